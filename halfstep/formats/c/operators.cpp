#include "halfstep/formats/c/operators.h"

#include <fmt/format.h>

#include <map>

#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/errors.h"

namespace halfstep::formats::c {
namespace {

using Add = void (*)(Body&, Op);

const std::map<const OpInfo*, Add>& forms() {
  static const std::map<const OpInfo*, Add> kForms = {{&ops::IntegerConv2d::record(), add_layer},
                                                      {&ops::IntegerLinear::record(), add_layer},
                                                      {&ops::IntegerAdd::record(), add_sum},
                                                      {&ops::IntegerMul::record(), add_product},
                                                      {&ops::IntegerRescale::record(), add_rescale},
                                                      {&ops::IntegerLookup::record(), add_lookup},
                                                      {&ops::IntegerAvgPool2d::record(), add_average},
                                                      {&ops::MaxPool2d::record(), add_max_pool},
                                                      {&ops::IntegerSoftmax::record(), add_softmax},
                                                      {&ops::IntegerNorm::record(), add_norm},
                                                      {&ops::IntegerMatmul::record(), add_matmul},
                                                      {&ops::IntegerReduceMean::record(), add_mean},
                                                      {&ops::IntegerResize::record(), add_resize},
                                                      {&ops::Quantize::record(), add_quantize},
                                                      {&ops::Dequantize::record(), add_dequantize},
                                                      {&ops::Conv2d::record(), add_float_layer},
                                                      {&ops::Linear::record(), add_float_layer},
                                                      {&ops::AvgPool2d::record(), add_float_mean},
                                                      {&ops::GlobalAvgPool::record(), add_float_mean},
                                                      {&ops::ReduceSum::record(), add_reduction},
                                                      {&ops::ReduceMean::record(), add_reduction},
                                                      {&ops::ReduceMax::record(), add_reduction},
                                                      {&ops::ReduceMin::record(), add_reduction},
                                                      {&ops::Matmul::record(), add_float_product},
                                                      {&ops::Softmax::record(), add_float_softmax},
                                                      {&ops::MaxPool::record(), add_max_places},
                                                      {&ops::ArgMax::record(), add_place_of},
                                                      {&ops::ArgMin::record(), add_place_of},
                                                      {&ops::TopK::record(), add_sorted},
                                                      {&ops::IntegerCumsum::record(), add_running}};
  return kForms;
}

/// Forms of operators that move elements by computed indices.
const std::map<const OpInfo*, Add>& indexed_forms() {
  static const std::map<const OpInfo*, Add> kForms = {
      {&ops::Gather::record(), add_gather},
      {&ops::GatherElements::record(), add_gather_elements},
      {&ops::GatherNd::record(), add_gather_blocks},
      {&ops::ScatterElements::record(), add_scatter_elements},
      {&ops::ScatterNd::record(), add_scatter_blocks},
      {&ops::MaxUnpool::record(), add_unpool},
  };
  return kForms;
}

/// Whether elements of the result are computed from elements at the same place.
bool reduces(Op op) {
  const auto found = op.attributes().find("reduction");
  return found != op.attributes().end() && std::get<std::string>(found->second) != "none";
}

bool only_moves(const OpInfo& info) {
  return info.quant.trait == Trait::preserves_range || info.quant.trait == Trait::same_scale;
}

}  // namespace

void add_operator(Body& body, Op op) {
  const auto form = forms().find(&op.info());
  if (form != forms().end()) return form->second(body, op);
  if (is_of_wholes(op)) return add_wholes(body, op);
  const Value index = op.info().quant.index < 0 ? Value() : op.in(op.info().quant.index);
  const auto indexed = indexed_forms().find(&op.info());
  if (index && indexed != indexed_forms().end() && (!index.is_tensor() || reduces(op)))
    return indexed->second(body, op);
  if (index && !index.is_tensor())
    fail(errors::no_c_form(op.where(), fmt::format("{} by '{}', which is computed,", op.info().name, index.name())));
  if (only_moves(op.info())) return add_move(body, op);
  if (!op.info().c_expression.empty()) return add_pointwise(body, op);
  fail(errors::no_c_form(op.where(), op.info().name));
}

}  // namespace halfstep::formats::c

#include "halfstep/formats/c/operators.h"

#include <fmt/format.h>

#include <map>

#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/errors.h"

namespace halfstep::formats::c {
namespace {

using Add = void (*)(Body&, Op);

const std::map<const OpInfo*, Add>& forms() {
  static const std::map<const OpInfo*, Add> kForms = {
      {&ops::IntegerConv2d::record(), add_layer},      {&ops::IntegerLinear::record(), add_layer},
      {&ops::IntegerAdd::record(), add_sum},           {&ops::IntegerMul::record(), add_product},
      {&ops::IntegerRescale::record(), add_rescale},   {&ops::IntegerLookup::record(), add_lookup},
      {&ops::IntegerAvgPool2d::record(), add_average}, {&ops::MaxPool2d::record(), add_max_pool},
      {&ops::IntegerSoftmax::record(), add_softmax},   {&ops::IntegerNorm::record(), add_norm},
      {&ops::IntegerMatmul::record(), add_matmul},     {&ops::IntegerReduceMean::record(), add_mean},
      {&ops::IntegerResize::record(), add_resize},     {&ops::Quantize::record(), add_quantize},
      {&ops::Dequantize::record(), add_dequantize},    {&ops::Conv2d::record(), add_float_layer},
      {&ops::Linear::record(), add_float_layer},       {&ops::AvgPool2d::record(), add_float_mean},
      {&ops::GlobalAvgPool::record(), add_float_mean}, {&ops::ReduceSum::record(), add_reduction},
      {&ops::ReduceMean::record(), add_reduction},     {&ops::ReduceMax::record(), add_reduction},
      {&ops::ReduceMin::record(), add_reduction},      {&ops::Matmul::record(), add_float_product},
      {&ops::Softmax::record(), add_float_softmax}};
  return kForms;
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
  if (index && !index.is_tensor() && op.is<ops::Gather>()) return add_gather(body, op);
  if (index && !index.is_tensor())
    fail(errors::no_c_form(op.where(), fmt::format("{} by '{}', which is computed,", op.info().name, index.name())));
  if (only_moves(op.info())) return add_move(body, op);
  if (!op.info().c_expression.empty()) return add_pointwise(body, op);
  fail(errors::no_c_form(op.where(), op.info().name));
}

}  // namespace halfstep::formats::c

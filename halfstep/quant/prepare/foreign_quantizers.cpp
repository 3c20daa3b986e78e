#include "halfstep/quant/prepare/foreign_quantizers.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::quant {
namespace {

using passes::has_trait;

/// The learned magnitude, or nothing if the quantizer has not learned a single number.
std::optional<float> learned_magnitude(const Model& model, Op quantizer) {
  const int port = quantizer.info().quant.magnitude;
  const Value scale = port < 0 ? Value() : quantizer.in(port);
  if (!scale || !scale.is_tensor()) return std::nullopt;
  const Tensor& tensor = model.tensors.at(scale.name());
  if (tensor.size() != 1) return std::nullopt;
  const auto magnitude = static_cast<float>(element(tensor, 0));
  return magnitude > 0 && std::isfinite(magnitude) ? std::optional(magnitude) : std::nullopt;
}

/// Removes a quantizer. Its dequantizers are already replaced, and no other operator may read its computed scale.
void erase_quantizer(Graph& graph, Op quantizer) {
  for (const Value result : quantizer.results()) {
    if (!result.unused())
      fail(errors::quantizer_scale_in_use(quantizer.where(),
                                          quantizer.info().outputs[static_cast<size_t>(result.port())].name,
                                          result.uses().front().first.info().name, result.uses().front().first.name()));
  }
  graph.erase(quantizer);
}

/// Replaces the result of `op` by `x`, the value before the quantizer.
void replace(Graph& graph, Op op, Value x) {
  if (op.out(0).type() != x.type())
    fail(errors::quantizer_changes_type(op.where(), op.info().name, to_string(x.type()), to_string(op.out(0).type())));
  op.out(0).replace_all_uses_with(x);
  erase_quantizer(graph, op);
}

void require_pair(Op quantizer) {
  for (const auto& [user, operand] : quantizer.out(0).uses()) {
    if (!has_trait(user, Trait::from_codes) || operand != 0)
      fail(errors::network_converted_already(quantizer.where(), user.info().name, user.name()));
  }
}

GivenQuantizer given_by(const Model& model, Op quantizer) {
  const Value x = quantizer.in(0);
  GivenQuantizer given;
  given.codes = given_codes(model, quantizer);
  if (x.is_tensor())
    given.contents = model.tensors.at(x.name());
  else if (!given.codes)
    given.magnitude = learned_magnitude(model, quantizer);
  return given;
}

}  // namespace

GivenQuantizers take_out_quantizers(Model& model) {
  GivenQuantizers given;
  for (const Op op : model.graph.ops()) {
    const bool to_codes = has_trait(op, Trait::to_codes);
    if (!to_codes && !has_trait(op, Trait::to_codes_and_back)) continue;
    const Value x = op.in(0);
    GivenQuantizer one = given_by(model, op);
    if (to_codes) require_pair(op);
    if (one.codes || one.magnitude) given.insert_or_assign(x.name(), std::move(one));
    if (to_codes) {
      // Replace readers of the codes first, because they may read the scale too.
      for (const auto& [back, operand] : op.out(0).uses()) replace(model.graph, back, x);
      erase_quantizer(model.graph, op);
    } else {
      replace(model.graph, op, x);
    }
  }
  for (const Op op : model.graph.ops()) {
    if (has_trait(op, Trait::from_codes)) fail(errors::codes_without_quantizer(op.where()));
  }
  return given;
}

void keep_given_quantizers(Model& prepared, const GivenQuantizers& given, const PrepareOptions& options) {
  for (const ops::FakeQuantize& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    const Value x = quantizer.x();
    const auto found = given.find(x.name());
    if (found == given.end()) continue;
    const GivenQuantizer& one = found->second;
    const bool is_folded = x.is_tensor() && !prepared.tensors.at(x.name()).same_bits(one.contents);
    if (one.magnitude) {
      const bool positive = x.producer().is<ops::Relu, ops::Relu6>();
      fix_range(prepared, quantizer, positive ? 0 : -*one.magnitude, *one.magnitude);
    } else if (!is_folded) {
      prepared.metadata.quantizer_reasons[x.name()] = keep_codes(prepared, quantizer, *one.codes, options);
    }
  }
}

}  // namespace halfstep::quant

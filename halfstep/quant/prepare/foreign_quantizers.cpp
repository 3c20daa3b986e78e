#include "halfstep/quant/prepare/foreign_quantizers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "halfstep/core/base/channel_elements.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/quantized_steps.h"
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

Tensor scales_of_elements(const Dims& dims, const GivenCodes& codes) {
  Tensor scales(DType::f32, dims);
  const auto elements = scales.data<float>();
  const int64_t axis = codes.scale.size() == 1 ? -1 : codes.axis;
  for_each_element(dims, axis, [&](size_t i, size_t c) { elements[i] = codes.scale[c]; });
  return scales;
}

GivenQuantizer given_by(const Model& model, Op quantizer) {
  const Value x = quantizer.in(0);
  GivenQuantizer given;
  given.codes = given_codes(model, quantizer);
  if (!x.is_tensor()) {
    if (!given.codes) given.magnitude = learned_magnitude(model, quantizer);
    return given;
  }
  if (!given.codes) given.codes = codes_of_magnitudes(model, quantizer);
  if (given.codes && x.dtype() == DType::f32) given.scales = scales_of_elements(x.dims(), *given.codes);
  return given;
}

/// The quantizer of a tensor, which rewritten layers have by a longer name.
const GivenQuantizer* given_for(const GivenQuantizers& given, Value tensor) {
  std::string name(tensor.name());
  for (size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('.')) {
    name.resize(end);
    const auto found = given.find(name);
    if (found != given.end() && found->second.scales.defined()) return &found->second;
  }
  return nullptr;
}

/// The scales of each channel, without those of padding, which are 0.
std::vector<std::set<float>> scales_of_channels(const Tensor& scales, int64_t axis, size_t channels) {
  std::vector<std::set<float>> found(channels);
  const auto elements = scales.data<float>();
  for_each_element(scales.dims(), channels == 1 ? -1 : axis, [&](size_t i, size_t c) {
    if (elements[i] != 0) found[c].insert(std::abs(elements[i]));
  });
  return found;
}

/// The codes of a weight whose elements have these scales. A negative scale is that of a layer which multiplies the
/// source's weight by a negative number. A weight with one channel has all scales of its elements. Nothing if a channel
/// of several ones has more than one.
std::optional<GivenCodes> codes_of_weight(const GivenCodes& given, const Tensor& scales, int64_t axis,
                                          size_t channels) {
  const bool has_one_zero = std::ranges::adjacent_find(given.zero_point, std::not_equal_to()) == given.zero_point.end();
  const bool is_symmetric = has_one_zero && given.zero_point[0] == 0;
  const auto elements = scales.data<float>();
  const bool is_negative = std::ranges::any_of(elements, [](float scale) { return scale < 0; });
  if (!std::ranges::all_of(elements, [](float scale) { return std::isfinite(scale); })) return std::nullopt;
  if ((!has_one_zero && given.zero_point.size() != channels) || (is_negative && !is_symmetric)) return std::nullopt;
  const auto found = scales_of_channels(scales, axis, channels);
  float largest = 0;
  for (const auto& channel : found) largest = channel.empty() ? largest : std::max(largest, *channel.rbegin());
  if (largest == 0) return std::nullopt;
  GivenCodes codes = given;
  if (is_negative) codes.code_min = std::max(codes.code_min, -codes.code_max);
  codes.scale.clear();
  for (const auto& channel : found) {
    if (channels > 1 && channel.size() > 1) return std::nullopt;
    codes.scale.insert(codes.scale.end(), channel.begin(), channel.end());
    if (channel.empty()) codes.scale.push_back(largest);
  }
  if (has_one_zero) codes.zero_point.assign(codes.scale.size(), given.zero_point[0]);
  return codes;
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

void write_scales(Model& model, const GivenQuantizers& given) {
  for (const auto& [name, one] : given) {
    if (one.scales.defined()) model.tensors.at(name) = one.scales;
  }
}

void keep_given_quantizers(Model& prepared, const GivenQuantizers& given,
                           const std::map<std::string, Tensor>& weight_scales, const PrepareOptions& options) {
  const auto keep = [&](const ops::FakeQuantize& quantizer, const GivenCodes& codes) {
    prepared.metadata.quantizer_reasons[quantizer.x().name()] = keep_codes(prepared, quantizer, codes, options);
  };
  for (const ops::FakeQuantize& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    const Value x = quantizer.x();
    if (x.is_tensor()) {
      const GivenQuantizer* const one = given_for(given, x);
      const auto scales = weight_scales.find(x.name());
      if (one == nullptr || scales == weight_scales.end() || scales->second.dims() != x.dims()) continue;
      const auto channels = static_cast<size_t>(passes::scale_tensor(quantizer).dims()[0]);
      const auto codes = codes_of_weight(*one->codes, scales->second, quantizer.axis(), channels);
      if (codes) keep(quantizer, *codes);
      continue;
    }
    const auto found = given.find(x.name());
    if (found == given.end()) continue;
    if (found->second.codes) keep(quantizer, *found->second.codes);
    if (found->second.magnitude) {
      const float magnitude = *found->second.magnitude;
      fix_range(prepared, quantizer, x.producer().is<ops::Relu, ops::Relu6>() ? 0 : -magnitude, magnitude);
    }
  }
}

}  // namespace halfstep::quant

#include "halfstep/quant/convert/integer_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "halfstep/core/arith/accumulator.h"
#include "halfstep/core/arith/bias.h"
#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/quant/convert/errors.h"

namespace halfstep::quant {
namespace {

/// Weight scales, raised for dead channels: each scale for its own bias, or a single scale for all biases.
std::vector<float> raised_scales(const WeightedLayer& layer) {
  const auto given = layer.w_scale.data<float>();
  std::vector<float> scales(given.begin(), given.end());
  if (!layer.b.defined()) return scales;
  const auto b = layer.b.data<float>();
  const bool power_of_two = arith::traits(layer.rule.form).powers_of_two;
  for (size_t c = 0; c < b.size(); ++c) {
    float& scale = scales[scales.size() == 1 ? 0 : c];
    scale = arith::raise_scale(scale, b[c], layer.x.scale, power_of_two);
  }
  return scales;
}

Tensor weight_codes(const WeightedLayer& layer, const std::vector<float>& scales) {
  Tensor codes(layer.code_type, layer.w.dims());
  const auto w = layer.w.data<float>();
  auto q = codes.data<int8_t>();
  const size_t per_channel = w.size() / static_cast<size_t>(layer.w.dims()[0]);
  for (size_t i = 0; i < w.size(); ++i) {
    const float scale = scales[scales.size() == 1 ? 0 : i / per_channel];
    q[i] = static_cast<int8_t>(arith::code_of(w[i], scale, 0, layer.weights));
  }
  return codes;
}

Tensor bias_codes(const WeightedLayer& layer, const std::vector<float>& scales) {
  Tensor codes(DType::i32, {layer.w.dims()[0]});
  if (!layer.b.defined()) return codes;
  const auto b = layer.b.data<float>();
  auto q = codes.data<int32_t>();
  for (size_t c = 0; c < b.size(); ++c)
    q[c] = arith::bias_code(b[c], layer.x.scale, scales[scales.size() == 1 ? 0 : c]);
  return codes;
}

/// Float biases, for engines that add them to float sums.
Tensor real_biases(const WeightedLayer& layer) {
  return layer.b.defined() ? layer.b.clone() : Tensor(DType::f32, {layer.w.dims()[0]});
}

std::string of_channel(const WeightedLayer& layer, size_t channel) {
  return fmt::format("{}: channel {}", layer.where, channel);
}

arith::Requantizer requantizer_of(const WeightedLayer& layer, const std::vector<float>& scales, size_t channel) {
  arith::Requantizer requantizer;
  const Status status = layer.rule.for_layer({layer.x.scale, scales[channel], layer.y.scale}, requantizer);
  if (!status.ok()) fail(errors::layer_not_requantizable(of_channel(layer, channel), status.message(), "NAME", ""));
  return requantizer;
}

void set_factors(const WeightedLayer& layer, const std::vector<float>& scales, IntegerTensors& out) {
  const auto count = static_cast<int64_t>(scales.size());
  const bool keeps_scales = arith::traits(layer.rule.form).keeps_scales;
  const bool shifts_alone = arith::traits(layer.rule.form).powers_of_two;
  const bool leaky = layer.rule.activation == arith::Activation::leaky_relu;
  if (keeps_scales) out.w_scale = Tensor::of<float>(DType::f32, {count}, scales);
  if (!keeps_scales) out.shift = Tensor(DType::i32, {count});
  if (!keeps_scales && !shifts_alone) out.multiplier = Tensor(DType::i32, {count});
  if (leaky) out.negative_shift = Tensor(DType::i32, {count});
  if (leaky && !shifts_alone) out.negative_multiplier = Tensor(DType::i32, {count});
  const auto store = [&](size_t channel, arith::Multiplier factor, Tensor& multiplier, Tensor& shift) {
    const arith::Multiplier stored = arith::to_stored(layer.rule.form, factor);
    if (multiplier.defined()) multiplier.data<int32_t>()[channel] = stored.m;
    if (shift.defined()) shift.data<int32_t>()[channel] = stored.shift;
  };
  for (size_t c = 0; c < scales.size(); ++c) {
    const arith::Requantizer requantizer = requantizer_of(layer, scales, c);
    const auto* scale = std::get_if<arith::FixedScale>(&requantizer);
    if (scale == nullptr) continue;
    store(c, scale->positive, out.multiplier, out.shift);
    store(c, scale->negative, out.negative_multiplier, out.negative_shift);
  }
}

/// `biases` are codes. For an engine they are part of the value that the training network observes.
int64_t prove_accumulator(const WeightedLayer& layer, const IntegerTensors& tensors, const Tensor& biases) {
  const auto w = tensors.w.data<int8_t>();
  const auto b = biases.data<int32_t>();
  const size_t per_channel = b.empty() ? 0 : w.size() / b.size();
  int64_t largest = 0;
  for (size_t c = 0; c < b.size(); ++c) {
    int64_t weight_sum = 0;
    for (size_t k = 0; k < per_channel; ++k) weight_sum += std::abs(w[c * per_channel + k]);
    const int64_t bound =
        arith::accumulator_bound(weight_sum, layer.x.code_min, layer.x.code_max, layer.x.zero_point, b[c]);
    if (bound > arith::kMostInInt32) fail(errors::channel_accumulator_overflow(of_channel(layer, c), bound));
    largest = std::max(largest, bound);
  }
  return largest;
}

}  // namespace

arith::CodeRule code_rule(const ops::FakeQuantize& quantizer) {
  return {static_cast<int32_t>(quantizer.code_min()), static_cast<int32_t>(quantizer.code_max()),
          quantizer.method() == "reciprocal", *arith::parse_rounding(quantizer.rounding())};
}

IntegerTensors integer_tensors(const WeightedLayer& layer) {
  IntegerTensors out;
  const std::vector<float> scales = raised_scales(layer);
  out.w = weight_codes(layer, scales);
  const Tensor biases = bias_codes(layer, scales);
  out.b = arith::traits(layer.rule.form).is_engine ? real_biases(layer) : biases;
  set_factors(layer, scales, out);
  out.accumulator_bound = prove_accumulator(layer, out, biases);
  return out;
}

Tensor stored_codes(const Tensor& floats, const CodeFormat& format, const arith::CodeRule& rule, DType type) {
  Tensor codes(type, floats.dims());
  const auto from = floats.data<float>();
  for (size_t i = 0; i < from.size(); ++i)
    set_element(codes, static_cast<int64_t>(i), arith::code_of(from[i], format.scale, format.zero_point, rule));
  return codes;
}

}  // namespace halfstep::quant

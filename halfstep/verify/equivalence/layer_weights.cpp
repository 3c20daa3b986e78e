#include "halfstep/verify/equivalence/layer_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"
#include "halfstep/verify/equivalence/errors.h"
#include "halfstep/verify/equivalence/layer_semantics.h"
#include "halfstep/verify/operators/product_elements.h"
#include "halfstep/verify/operators/tensor_numbers.h"

namespace halfstep::verify {
namespace {

std::vector<double> floats_of(const Model& model, Value tensor) {
  const auto floats = model.tensors.at(tensor.name()).data<float>();
  return {floats.begin(), floats.end()};
}

/// Raises scales of weights for which the bias code would exceed 2^30.
std::vector<double> raised(std::vector<float> scales, const std::vector<double>& bias, double x_scale,
                           bool power_of_two) {
  constexpr double kLargestBias = 0x1p30;
  for (size_t c = 0; c < bias.size(); ++c) {
    float& scale = scales[scales.size() == 1 ? 0 : c];
    const double least = std::fabs(bias[c]) / (x_scale * kLargestBias);
    if (!(static_cast<double>(scale) < least) || !std::isfinite(least)) continue;
    scale = static_cast<float>(power_of_two ? std::exp2(std::ceil(std::log2(least))) : least);
    if (static_cast<double>(scale) < least)
      scale = power_of_two ? 2 * scale : std::nextafter(scale, std::numeric_limits<float>::infinity());
  }
  return {scales.begin(), scales.end()};
}

}  // namespace

Tensor LayerWeights::floats() const {
  Tensor floats(DType::f64, codes.dims());
  auto to = floats.data<double>();
  for (size_t i = 0; i < to.size(); ++i) {
    const double scale = scales[scales.size() == 1 ? 0 : i / static_cast<size_t>(taps())];
    to[i] = element(codes, static_cast<int64_t>(i)) * scale;
  }
  return floats;
}

Tensor LayerWeights::floats_for(Op product) const {
  const Tensor floats = this->floats();
  const Dims& dims = product.in(weight_ports(product)->weight).dims();
  if (is_convolution(product))
    return Tensor::of<double>(DType::f64, dims, ProductWindow(product).stored(floats.data<double>()));
  if (!inputs_first(product)) return floats.reshaped(dims);
  const int64_t outputs = codes.dims()[0], run = taps();
  Tensor turned(DType::f64, dims);
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < run; ++i)
      turned.data<double>()[static_cast<size_t>(i * outputs + o)] =
          floats.data<double>()[static_cast<size_t>(o * run + i)];
  }
  return turned;
}

std::optional<LayerWeights> layer_weights(const Model& prepared, const Model& integer, const Coding& layer,
                                          const std::vector<Coding>& codings) {
  const OpInfo& info = layer.op.info();
  if (info.input("w") < 0) return std::nullopt;
  const Op op = prepared.graph.op(layer.layer);
  const int port = op ? op.info().quant.weight : -1;
  const auto quantizer = port >= 0 ? op.in(port).producer<ops::FakeQuantize>() : std::nullopt;
  if (!quantizer || layer.operands.empty())
    fail(errors::program_does_not_match(
        fmt::format("layer '{}'", layer.layer),
        fmt::format("no quantized weight of that name in network '{}'", prepared.graph.name()), "one"));
  LayerWeights weights{*quantizer, op, integer.tensors.at(layer.op.in(info.input("w")).name()), {}, {}};
  const int bias = op.info().quant.bias;
  if (bias >= 0 && op.in(bias)) weights.bias = floats_of(prepared, op.in(bias));
  if (const Value stated = layer.op.in(info.input("w_scale"))) {
    weights.scales = floats_of(integer, stated);
  } else {
    weights.scales = raised(scales_of(prepared, *quantizer), weights.bias, codings[layer.operands[0]].format.scale,
                            layer.format.requantize == "power_of_two");
  }
  return weights;
}

void compare_weights(const LayerWeights& weights, const Model& prepared, Semantics& semantics) {
  constexpr double kRounding = 0x1p-22;  // of a float32 division, or of a product with a reciprocal
  const ops::FakeQuantize& quantizer = weights.quantizer;
  const CodeFormat format{1, 0, quantizer.code_min(), quantizer.code_max(), ties_of(quantizer), {}, 0, {}};
  const auto floats = prepared.tensors.at(quantizer.x().name()).data<float>();
  const int64_t run = weights.taps();
  for (int64_t i = 0; i < weights.codes.size(); ++i) {
    const double real = static_cast<double>(floats[static_cast<size_t>(i)]);
    const double scale = weights.scales[weights.scales.size() == 1 ? 0 : static_cast<size_t>(i / run)];
    const auto found = static_cast<int64_t>(element(weights.codes, i));
    compare_code(
        semantics, format, real / scale, 0.0, found, [](double saturated) { return kRounding * std::fabs(saturated); },
        [&] {
          return SemanticFault{"weight",
                               i,
                               -1,
                               0,
                               position_of(i, weights.codes.dims()),
                               0,
                               0,
                               real,
                               fmt::format("weight '{}' of the prepared network", quantizer.x().name())};
        });
  }
}

}  // namespace halfstep::verify

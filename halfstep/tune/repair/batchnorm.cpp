// Re-estimates normalizations. Rounding changes mean and variance of a layer's outputs. A factor and a shift for each
// channel correct this, as a batch norm after the layer would. If the norm is folded, the factors go into the weights
// together with their scales, so that codes do not change. The shifts go into the bias.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/evaluate/teacher.h"
#include "halfstep/tune/repair/layers.h"
#include "halfstep/tune/repair/methods.h"

namespace halfstep::repair {
namespace {

constexpr double kMostFactor = 1.5;  ///< limit of a channel's correction factor, and of its inverse

std::vector<double> factors_of(const Moments& in_floats, const Moments& now) {
  std::vector<double> factors(now.variance.size(), 1.0);
  for (size_t c = 0; c < factors.size(); ++c) {
    if (now.variance[c] > 0 && in_floats.variance[c] > 0)
      factors[c] = std::clamp(std::sqrt(in_floats.variance[c] / now.variance[c]), 1 / kMostFactor, kMostFactor);
  }
  return factors;
}

void multiply(std::span<float> elements, const std::vector<double>& factors) {
  const size_t run = elements.size() / factors.size();
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(double{elements[i]} * factors[i / run]);
}

/// Whether the scales of the weight can contain a factor for each channel.
bool takes_factors(const Layer& layer) {
  return layer.quantizer.axis() == 0 && layer.op.info().quant.weight_axis == 0 &&
         !quant::observer_of(layer.quantizer).power_of_two();
}

void rescale(Model& model, const Layer& layer, const Moments& in_floats, const Moments& now) {
  std::vector<double> factors(now.mean.size(), 1.0);
  if (takes_factors(layer)) {
    factors = factors_of(in_floats, now);
    const ops::ObserveRange observer = quant::observer_of(layer.quantizer);
    for (const Value tensor : {layer.weight, passes::scale_tensor(layer.quantizer), observer.low(), observer.high()})
      multiply(own_floats(model, tensor.name()), factors);
  }
  const auto bias = own_floats(model, layer.bias.name());
  for (size_t c = 0; c < bias.size(); ++c)
    bias[c] = static_cast<float>(in_floats.mean[c] - factors[c] * (now.mean[c] - double{bias[c]}));
}

}  // namespace

Change match_statistics(const State& state, const RepairContext& context) {
  if (const std::string reason = why_weights_stay(state.model); !reason.empty()) return {{}, reason};
  const std::vector<Layer> layers = layers_with_bias(state.model);
  if (layers.empty()) return {{}, "no layer on codes has its own bias" + left_out(state.model)};
  std::vector<Watched> watched;
  for (const Layer& layer : layers) watched.push_back({layer.op.out(0).name()});
  const auto in_floats = moments_of(train::teacher_of(state.reference, context.samples.data->name), watched,
                                    context.samples, context.pool);
  State after = state;
  double farthest = 1;
  for (const Layer& layer : layers) {
    const std::string& value = layer.op.out(0).name();
    const Moments now = moments_of(simulated(after.model), {{value}}, context.samples, context.pool).at(value);
    for (const double factor : factors_of(in_floats.at(value), now))
      farthest = std::max({farthest, factor, 1 / factor});
    rescale(after.model, layer, in_floats.at(value), now);
  }
  const auto with_factors = std::ranges::count_if(layers, takes_factors);
  return {after, fmt::format("matched the mean of each channel of {} layers, and of {} of them the variance, which was "
                             "off by a factor of {:.3g} at most{}",
                             layers.size(), with_factors, farthest * farthest, left_out(state.model))};
}

}  // namespace halfstep::repair

// Uses 16-bit activations for a few layers, if no other method helps.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/tune/repair/layers.h"
#include "halfstep/tune/repair/methods.h"

namespace halfstep::repair {
namespace {

constexpr int kWide = 16;
constexpr size_t kShare = 4;         ///< at most a quarter of the layers
constexpr double kLeastGain = 0.05;  ///< least relative decrease of the distance for each layer

/// The network with 16-bit activations after a layer. Nothing if the platform does not support them there.
std::optional<Model> widened(const Model& model, const std::string& layer) {
  Model wide = model;
  try {
    quant::set_bits(wide, layer, std::nullopt, kWide);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    return std::nullopt;
  }
  return wide;
}

struct Candidate {
  std::string layer;
  double distance;
};

}  // namespace

Change widen_activations(const State& state, const RepairContext& context) {
  const double before = context.judge(state.model).loss;
  std::vector<Candidate> candidates;
  size_t all = 0;
  for (const passes::QuantizedStep& step : passes::quantized_steps(state.model)) {
    if (!step.quantizer || quant::bits_of(step.quantizer) != 8) continue;
    ++all;
    if (const auto wide = widened(state.model, step.name()))
      candidates.push_back({step.name(), context.judge(*wide).loss});
  }
  if (candidates.empty())
    return {{},
            (all == 0 ? "no activations have 8 bits"
                      : "the platform allows no activations of 16 bits for any of its layers") +
                left_inside(state.model)};
  std::ranges::stable_sort(candidates, {}, &Candidate::distance);
  Model best = state.model;
  double distance = before;
  std::string layers;
  size_t count = 0;
  for (const Candidate& one : candidates) {
    if (count * kShare >= all) break;
    const auto wide = widened(best, one.layer);
    if (!wide) continue;
    const double now = context.judge(*wide).loss;
    if (!(now < (1 - kLeastGain) * distance)) continue;
    best = *wide;
    distance = now;
    ++count;
    layers += (layers.empty() ? "" : ", ") + one.layer;
  }
  if (count == 0)
    return {{},
            fmt::format("16 bits for any of {} activations gain less than {:g} %{}", all, 100 * kLeastGain,
                        left_inside(state.model))};
  return {State{best, state.reference},
          fmt::format("used 16 bits for the activations of {} of {} layers ({}): distance {:.3g} instead of {:.3g}{}",
                      count, all, layers, distance, before, left_inside(state.model))};
}

}  // namespace halfstep::repair

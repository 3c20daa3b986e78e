// Searches ranges that minimize the distance to the float network: first the observer of activations, then the ranges
// of weights.
#include <fmt/format.h>

#include <span>

#include "halfstep/quant/platform/observers.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/tune/repair/layers.h"
#include "halfstep/tune/repair/methods.h"
#include "halfstep/tune/repair/weight_ranges.h"

namespace halfstep::repair {
namespace {

constexpr const char* kOfActivations[] = {"minmax", "mse", "quantile", "percentile", "kl", "histogram"};
constexpr const char* kOfWeights[] = {"minmax", "mse", "quantile", "percentile"};

/// The network with this observer for weights or activations, recalibrated.
Model watched(const Model& model, bool weights, const char* observer, const RepairContext& context) {
  Model changed = model;
  quant::Platform platform = quant::platform_of(model);
  (weights ? platform.weight_observer : platform.activation_observer) = observer;
  platform.low_bits_observer.clear();
  for (const auto& quantizer : changed.graph.all<ops::FakeQuantize>()) {
    if (quant::is_weight(quantizer) == weights && !quant::is_fixed(quant::observer_of(quantizer)))
      quant::set_quantizer_bits(changed, platform, quantizer, quant::bits_of(quantizer));
  }
  train::calibrate(changed, context.samples, context.calibration, context.pool);
  return changed;
}

/// The closest network found so far.
struct Search {
  Model best;
  double loss;
  std::string found = {}, left_out = {};

  /// Takes the candidate if it is closer. Returns whether it is.
  bool take(Model candidate, const RepairContext& context) {
    const double distance = context.judge(candidate).loss;
    if (!(distance < loss)) return false;
    best = std::move(candidate);
    loss = distance;
    return true;
  }

  void over(std::span<const char* const> observers, bool weights, const RepairContext& context) {
    const Model from = best;
    std::string name;
    for (const char* observer : observers) {
      if (take(watched(from, weights, observer, context), context)) name = observer;
    }
    auto by_outputs = weights ? ranges_by_outputs(from, context.samples, context.pool) : std::nullopt;
    if (by_outputs && take(std::move(*by_outputs), context)) {
      name = "the errors of their layers' outputs";
      left_out = left_inside(from);
    }
    if (!name.empty())
      found += fmt::format("{}{} for {}", found.empty() ? "" : ", ", name, weights ? "weights" : "activations");
  }
};

}  // namespace

Change search_ranges(const State& state, const RepairContext& context) {
  const double before = context.judge(state.model).loss;
  Search search{state.reference, before};
  search.over(kOfActivations, false, context);
  search.over(kOfWeights, true, context);
  if (search.found.empty())
    return {{},
            fmt::format("none of {} observers of activations and {} of weights comes closer than the platform's "
                        "observers, and neither do ranges of weights by the errors of their layers' outputs",
                        std::size(kOfActivations), std::size(kOfWeights))};
  return {State{search.best, search.best}, fmt::format("took {}: distance {:.3g} instead of {:.3g}{}", search.found,
                                                       search.loss, before, search.left_out)};
}

}  // namespace halfstep::repair

// The method of SmoothQuant (Xiao et al., ICML 2023) for any network. Moves outlying channels of activations into the
// weights that read them, if the preceding layer or norm can be scaled by the inverse.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/train/evaluate/teacher.h"
#include "halfstep/tune/repair/layers.h"
#include "halfstep/tune/repair/methods.h"
#include "halfstep/tune/repair/scalable_channels.h"

namespace halfstep::repair {
namespace {

constexpr double kShares[] = {0.25, 0.5, 0.75};  ///< share of a channel's magnitude that moves into the weights

/// weights^(1 - share) / activations^share, rounded to powers of two. Their geometric mean is about 1.
std::vector<float> smoothing_factors(const std::vector<double>& activations, const std::vector<double>& weights,
                                     double share) {
  std::vector<double> exponents(activations.size());
  double sum = 0;
  int64_t alive = 0;
  for (size_t c = 0; c < activations.size(); ++c) {
    if (activations[c] <= 0 || weights[c] <= 0) continue;
    exponents[c] = (1 - share) * std::log2(weights[c]) - share * std::log2(activations[c]);
    sum += exponents[c];
    ++alive;
  }
  std::vector<float> factors(activations.size(), 1.0F);
  for (size_t c = 0; c < activations.size(); ++c) {
    if (activations[c] > 0 && weights[c] > 0)
      factors[c] = static_cast<float>(std::exp2(std::nearbyint(exponents[c] - sum / static_cast<double>(alive))));
  }
  return factors;
}

std::vector<double> activation_magnitudes(const ChannelGroup& group, const std::map<std::string, Moments>& moments) {
  std::vector<double> largest(static_cast<size_t>(group.channels));
  for (const Reader& reader : group.readers) {
    const std::vector<double>& of_value = moments.at(reader.activations).largest;
    for (size_t i = 0; i < of_value.size(); ++i) {
      double& one = largest[i / static_cast<size_t>(reader.run)];
      one = std::max(one, of_value[i]);
    }
  }
  return largest;
}

int64_t smooth_all(Model& model, const std::vector<ChannelGroup>& groups, const std::map<std::string, Moments>& moments,
                   double share) {
  int64_t scaled = 0;
  for (const ChannelGroup& group : groups) {
    const auto factors = smoothing_factors(activation_magnitudes(group, moments), read_magnitudes(model, group), share);
    scaled += std::ranges::count_if(factors, [](float factor) { return factor != 1.0F; });
    scale_channels(model, group, factors);
  }
  return scaled;
}

}  // namespace

Change smooth(const State& state, const RepairContext& context) {
  if (const std::string reason = why_weights_stay(state.model); !reason.empty()) return {{}, reason};
  const std::vector<ChannelGroup> groups = channel_groups(state.model);
  if (groups.empty()) return {{}, "no layer reads channels that another layer could scale" + left_inside(state.model)};
  std::vector<Watched> watched;
  for (const ChannelGroup& group : groups) {
    for (const Reader& reader : group.readers) watched.push_back({reader.activations, reader.axis});
  }
  const auto moments = moments_of(train::teacher_of(state.reference, context.samples.data->name), watched,
                                  context.samples, context.pool);
  const train::ValidationResult before = context.judge(state.model);
  std::optional<Model> best;
  double best_loss = before.loss, best_share = 0;
  int64_t best_scaled = 0;
  for (const double share : kShares) {
    Model after = state.reference;
    const int64_t scaled = smooth_all(after, groups, moments, share);
    if (scaled == 0) continue;
    train::calibrate(after, context.samples, context.calibration, context.pool);
    const train::ValidationResult validation_result = context.judge(after);
    if (!(validation_result.loss < best_loss)) continue;
    best = std::move(after);
    best_loss = validation_result.loss, best_share = share, best_scaled = scaled;
  }
  if (!best)
    return {{},
            fmt::format("moving outliers from activations into weights does not help in any of {} groups of channels{}",
                        groups.size(), left_inside(state.model))};
  return {State{*best, *best},
          fmt::format("moved {:.0f} % of the magnitude of {} channels from activations into weights, distance "
                      "{:.3g} instead of {:.3g}{}",
                      100 * best_share, best_scaled, best_loss, before.loss, left_inside(state.model))};
}

}  // namespace halfstep::repair

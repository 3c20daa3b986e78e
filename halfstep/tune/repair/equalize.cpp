// Cross-layer equalization (Nagel et al., "Data-free quantization through weight equalization and bias correction",
// ICCV 2019), with factors that are powers of two.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "halfstep/tune/repair/layers.h"
#include "halfstep/tune/repair/methods.h"
#include "halfstep/tune/repair/scalable_channels.h"

namespace halfstep::repair {
namespace {

/// Power-of-two factors that make the magnitudes on both sides of each channel as equal as possible. 1 for a channel
/// that is zero on either side.
std::vector<float> evening_factors(const std::vector<double>& given, const std::vector<double>& read) {
  std::vector<float> factors(given.size(), 1.0F);
  for (size_t c = 0; c < given.size(); ++c) {
    if (given[c] > 0 && read[c] > 0 && std::isfinite(given[c]) && std::isfinite(read[c]))
      factors[c] = static_cast<float>(std::exp2(std::nearbyint(0.5 * std::log2(read[c] / given[c]))));
  }
  return factors;
}

/// The ratio of the largest to the smallest magnitude, without channels that are zero.
double spread_of(const std::vector<double>& magnitudes) {
  double least = 0, most = 0;
  for (const double one : magnitudes) {
    if (one <= 0) continue;
    least = least == 0 ? one : std::min(least, one);
    most = std::max(most, one);
  }
  return least == 0 ? 1 : most / least;
}

double widest_spread(const Model& model, const std::vector<ChannelGroup>& groups) {
  double widest = 1;
  for (const ChannelGroup& group : groups) {
    widest = std::max({widest, spread_of(given_magnitudes(model, group)), spread_of(read_magnitudes(model, group))});
  }
  return widest;
}

/// Divides factors by the median factor. A factor that differs from the median by less than `least` times becomes 1.
void keep_outlying(std::vector<float>& factors, float least) {
  std::vector<float> sorted = factors;
  const auto middle = sorted.begin() + (std::ssize(sorted) - 1) / 2;
  std::ranges::nth_element(sorted, middle);
  for (float& factor : factors) factor = std::max(factor / *middle, *middle / factor) < least ? 1 : factor / *middle;
}

/// Sweeps over all groups until no factor changes. Also returns the number of scaled channels.
std::pair<Model, int64_t> evened(Model model, const std::vector<ChannelGroup>& groups, float least) {
  constexpr int kMostSweeps = 20;
  int64_t scaled = 0;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    const int64_t before = scaled;
    for (const ChannelGroup& group : groups) {
      auto factors = evening_factors(given_magnitudes(model, group), read_magnitudes(model, group));
      if (least > 1) keep_outlying(factors, least);
      const auto changed = std::ranges::count_if(factors, [](float factor) { return factor != 1.0F; });
      if (changed == 0) continue;
      scaled += changed;
      scale_channels(model, group, factors);
    }
    if (scaled == before) break;
  }
  return {std::move(model), scaled};
}

}  // namespace

/// Equalizes all channels, or only the outliers of each group. If each channel's weights have their own scale, the
/// other channels would only change the ranges of activations, for better or worse.
Change equalize(const State& state, const RepairContext& context) {
  if (const std::string reason = why_weights_stay(state.model); !reason.empty()) return {{}, reason};
  const std::vector<ChannelGroup> groups = channel_groups_of_all(state.model);
  if (groups.empty())
    return {{}, "no layers are connected only by operators that preserve a factor (relu, pools, sums)"};
  constexpr float kOutlying = 4;
  Change best;
  double least_distance = 0;
  for (const float least : {1.0F, kOutlying}) {
    auto [after, scaled] = evened(state.reference, groups, least);
    if (scaled == 0) continue;
    train::calibrate(after, context.samples, context.calibration, context.pool);
    const double distance = context.judge(after).loss;
    if (best.state && distance >= least_distance) continue;
    least_distance = distance;
    best.what = fmt::format(
        "equalized {} across {} groups of layers: the ratio between channels of a group was up to {:.3g}, and is up to "
        "{:.3g}",
        least > 1 ? "outlying channels" : "channels", groups.size(), widest_spread(state.reference, groups),
        widest_spread(after, groups));
    best.state = State{after, after};
  }
  if (!best.state) best.what = fmt::format("channels of {} groups are already equal", groups.size());
  return best;
}

}  // namespace halfstep::repair

// How a network learns, beyond rate and number of epochs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/train/loop/options.h"

namespace halfstep::train {

struct Recipe : RecipeFields {
  bool softens_labels() const { return label_smoothing > 0 || mixup > 0; }
  /// Throws bad_input naming everything that is out of range.
  void check() const;
  std::string text() const;  ///< what decides the bits of a result
};

/// The rate at `step` of `steps`, after a linear rise to `peak` over the first `warmup`.
double rate_at(const RateSchedule& schedule, double peak, int64_t step, int64_t steps, int64_t warmup);

/// f32 [n, classes] of labels, i32 [n]: 1 - smoothing + smoothing / classes of the label, smoothing / classes of each
/// other class. Throws bad_input for a label that is no class.
Tensor soft_targets(const Tensor& labels, int64_t classes, double smoothing);

/// Shares of a step's samples that their partners get, and who these are: sample i becomes
/// (1 - share) * x[i] + share * x[partner[i]]. The same for the same seed, step and number.
struct Mixture {
  float share = 0;
  std::vector<int64_t> partner;
};
Mixture mixture_of(double parameter, int64_t count, uint64_t seed, uint64_t step);
/// f32 whose first axis are samples.
Tensor mixed(const Tensor& x, const Mixture& mixture);

}  // namespace halfstep::train

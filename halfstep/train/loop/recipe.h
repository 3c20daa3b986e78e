// Training options beyond learning rate and number of epochs.
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
  /// Throws bad_input with every option that is out of range.
  void check() const;
  std::string text() const;  ///< the options that determine the bits of a result
};

/// The rate at `step` of `steps`, after a linear rise to `peak` over the first `warmup` steps.
double rate_at(const RateSchedule& schedule, double peak, int64_t step, int64_t steps, int64_t warmup);

/// f32 [n, classes] for labels i32 [n]: 1 - smoothing + smoothing / classes for the label, smoothing / classes for each
/// other class. Throws bad_input if a label is not a class.
Tensor soft_targets(const Tensor& labels, int64_t classes, double smoothing);

/// Mixing of samples: sample i becomes (1 - share) * x[i] + share * x[partner[i]]. share is at most 1/2.
struct Mixture {
  float share = 0;
  std::vector<int64_t> partner;
};
/// A mixture of `count` samples. Its share is distributed like min(a, 1 - a) for a ~ beta(parameter, parameter). Equal
/// seed, step and count have equal results.
Mixture mixture_of(double parameter, int64_t count, uint64_t seed, uint64_t step);
/// Mixes an f32 tensor along its first axis, the samples.
Tensor mixed(const Tensor& x, const Mixture& mixture);

}  // namespace halfstep::train

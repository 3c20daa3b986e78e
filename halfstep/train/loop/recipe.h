// How a network learns, beyond rate and number of epochs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/tensor.h"

namespace halfstep::train {

/// What the learning rate does after its rise.
struct RateSchedule {
  /// Shares of the training after each of which the rate is a tenth of what it was; empty: half a cosine down to 0.
  std::vector<double> drops = {};
};
/// "cosine", "steps" (at 0.5 and 0.75) or "steps:0.5,0.75,0.9". Throws bad_input for anything else.
RateSchedule parse_rate_schedule(std::string_view text);
std::string to_text(const RateSchedule& schedule);

struct Recipe {
  RateSchedule schedule;
  double label_smoothing = 0;  ///< share of a label that all classes have alike (Szegedy et al., 2016)
  /// Parameter of the beta distribution that pairs of samples are mixed by (Zhang et al., 2018); 0: none are.
  double mixup = 0;
  double scale_rate = 1;  ///< learned scales move at so many times the learning rate
  /// Weights whose code goes back and forth in a larger share of steps are frozen at the code that they were nearest to
  /// (Nagel et al., 2022); 0: none are.
  double freeze_above = 0;
  /// Patterns of layers whose results are to be the float network's, beside what the outputs are to be.
  std::vector<std::string> features = {};
  double teacher_weight = 1;  ///< how much outputs of other networks count beside the loss of labels
  int64_t renormalize = 0;    ///< batches that running statistics are taken anew from at the end; 0: they stay

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

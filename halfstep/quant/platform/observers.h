// Maps the observer names in platform records to attributes of the operator observe_range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/core/base/attribute.h"

namespace halfstep::quant {

/// Parameters of observers. An observer ignores the parameters that it does not use.
struct ObserverNumbers {
  int64_t candidates = 64, steps = 80;  ///< mse: tries the range times 1 - i / steps
  double power = 2.0;                   ///< mse: exponent of the errors in the sum
  double share = 0.99999;               ///< quantile, percentile: share of the elements inside the range
  int64_t bins = 2048;                  ///< quantile: bins of the histogram
  double deviations = 2.6;              ///< clip_std, widen_std: standard deviations
  bool nearest_power = false;           ///< round scales to the nearest power of two instead of up
};

/// Names of all observers, in the order of their rules in docs/arithmetic.md, section 3.
std::vector<std::string> observer_names();

/// The observer that covers all values, in place of a moving average. For values in loops and branches: their
/// iterations are not samples of one distribution, so an average is not meaningful.
std::string over_all(const std::string& observer);

/// Whether the observer always returns powers of two, independent of other settings.
bool gives_powers_of_two(const std::string& observer);
/// Whether the observer initializes a learned scale. Such a scale does not cover a range.
bool starts_learning(const std::string& observer);

/// Attributes of observe_range that select `observer`, for a weight or an activation.
Attributes observer_attributes(const std::string& observer, const ObserverNumbers& numbers, bool of_weight);

/// The name of the observer with these attributes of observe_range.
std::string observer_name(const std::string& method, const std::string& merge);

}  // namespace halfstep::quant

// Observers as records of platforms name them, and what each is to the operator observe_range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/core/base/attribute.h"

namespace halfstep::quant {

/// Numbers that observers have; those that an observer does not use say nothing.
struct ObserverNumbers {
  int64_t candidates = 64, steps = 80;  ///< mse: tries the range times 1 - i / steps
  double power = 2.0;                   ///< mse: of the errors that are summed
  double share = 0.99999;               ///< quantile, percentile: of elements that stay
  int64_t bins = 2048;                  ///< quantile
  double deviations = 2.6;              ///< clip_std, widen_std
  bool nearest_power = false;           ///< powers of two are the nearest, not the next ones up
};

/// Their names, in the order of their rules in docs/arithmetic.md, section 3.
std::vector<std::string> observer_names();

/// Of iterations and branches no average is taken, as they are no samples of one kind: the observer over all of them in
/// place of a moving one.
std::string over_all(const std::string& observer);

/// Whether it gives nothing but powers of two, whatever is asked for.
bool gives_powers_of_two(const std::string& observer);
/// Whether it is the start of a scale that is learned, which covers no range.
bool starts_learning(const std::string& observer);

/// The attributes of observe_range that make it `observer`, of a weight or a feature.
Attributes observer_attributes(const std::string& observer, const ObserverNumbers& numbers, bool of_weight);

/// The name of an observe_range with these attributes.
std::string observer_name(const std::string& method, const std::string& merge);

}  // namespace halfstep::quant

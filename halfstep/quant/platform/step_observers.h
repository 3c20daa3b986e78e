// Observers that need several runs for one step. One run finds the extremes of all elements, another one accumulates
// the sums from which the range is computed. See docs/arithmetic.md, section 3.
#pragma once

#include <functional>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::quant {

/// Observations of one observer in one step.
struct ObservedStep {
  Tensor low, high;  ///< by channel
  Tensor sums;       ///< exact sums by channel, undefined if the extremes are sufficient
};

/// Whether every run has the same observations, as for weights.
bool watches_tensors(const ops::ObserveRange& observer);

/// Whether the method needs sums in addition to extremes.
bool adds_up(const ops::ObserveRange& observer);

/// A copy of `observing` that keeps only the observers for which `keeps` returns true.
Model with_observers(const Model& observing, const std::function<bool(const ops::ObserveRange&)>& keeps);

/// Makes all observers find extremes, independent of their methods.
void observe_extremes(Model& observing);

/// Makes observers accumulate the sums that their method needs, of the elements between `low` and `high`, in their
/// tensor `seen`. Removes observers that need only extremes. Keeps the operands for which `keeps` returns true.
void observe_sums(Model& observing, const std::function<bool(Value operand)>& keeps);

/// An empty observation for the observer.
ObservedStep nothing_observed(const ops::ObserveRange& observer);
/// Sets low and high to the range over which the sums are accumulated.
ObservedStep range_of_sums(const Model& prepared, const ops::ObserveRange& observer, const ObservedStep& step);
void widen(ObservedStep& step, const Tensor& low, const Tensor& high);
/// Computes to += times * more.
void add_sums(Tensor& to, const Tensor& more, int64_t times = 1);
/// Divides sums that are multiples of `by`.
void divide_sums(Tensor& sums, int64_t by);

/// Updates range, statistics, scale and zero point with the observations of a step.
void take_step(Model& prepared, const ops::ObserveRange& observer, const ObservedStep& step);

}  // namespace halfstep::quant

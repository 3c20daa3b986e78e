// Observers whose steps are made of several runs: one finds the extremes of all elements, another one adds up what the
// range of a step is made of. docs/arithmetic.md, section 3.
#pragma once

#include <functional>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::quant {

/// What an observer saw in a step.
struct ObservedStep {
  Tensor low, high;  ///< by channel
  Tensor sums;       ///< exact sums by channel; none where the extremes are enough
};

/// Whether it sees the same in every run, as one of weights does.
bool watches_tensors(const ops::ObserveRange& observer);

/// Whether it needs more than the extremes.
bool adds_up(const ops::ObserveRange& observer);

/// `observing` with those observers alone that `keeps` says.
Model with_observers(const Model& observing, const std::function<bool(const ops::ObserveRange&)>& keeps);

/// Observers find extremes, whatever their method is.
void observe_extremes(Model& observing);

/// Observers add up what their method needs of the elements between `low` and `high` in their tensor `seen`; those for
/// which the extremes are enough go. Of their operands stay those that `keeps` says.
void observe_sums(Model& observing, const std::function<bool(Value operand)>& keeps);

/// An observer that has seen nothing in this step.
ObservedStep nothing_observed(const ops::ObserveRange& observer);
/// Sets low and high to the range that its sums are of.
ObservedStep range_of_sums(const Model& prepared, const ops::ObserveRange& observer, const ObservedStep& step);
void widen(ObservedStep& step, const Tensor& low, const Tensor& high);
/// to + times * more.
void add_sums(Tensor& to, const Tensor& more, int64_t times = 1);
/// Sums that are multiples of `by`.
void divide_sums(Tensor& sums, int64_t by);

/// Moves range, statistics, scale and zero point by a step.
void take_step(Model& prepared, const ops::ObserveRange& observer, const ObservedStep& step);

}  // namespace halfstep::quant

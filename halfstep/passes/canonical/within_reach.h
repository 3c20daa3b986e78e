// Limits the values that observers see before a softmax. The softmax depends only on the distance of elements below the
// largest of their row.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Inserts max(x, largest of the row - reach) before every active observer whose attribute `reach` is above 0, and sets
/// it to 0. Observers that need only the ends of rows for the range see these alone. Rows are the last axis.
void within_reach(Model& model);

/// Masks before a softmax also use smaller magnitudes, such as BERT's -10000. Their exponential is 0 in float32, so
/// such an element does not count beside a visible one. Rows that are hidden as a whole become rows of equal elements.
inline constexpr float kMasking = -1e4F;

/// Whether the number hides elements of `value`. The limit is kHidden (code_forms.h), or kMasking if only softmaxes
/// read the value.
bool hides(double number, Value value);

/// Returns how far below the largest of its row an element still matters to a softmax. All elements further away add up
/// to less than half a step of codes of `bits`. Returns 0 if anything but softmaxes reads `value`, directly or through
/// operators that move it.
double reach_of(Value value, int bits);

}  // namespace halfstep::passes

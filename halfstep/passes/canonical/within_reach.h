// What observers see of rows of which a softmax reads no more than how far elements lie below the largest.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Puts max(x, largest of the row - reach) in front of every observer that has a reach and observes, or the ends of its
/// rows where those alone make the range; its reach becomes 0. Rows are the last axis.
void within_reach(Model& model);

/// In front of a softmax masks are written with smaller numbers too, as BERT's -10000: e to it is 0 in float32, so that
/// such an element counts nothing beside one that is seen. Rows that are hidden as a whole become rows of like
/// elements.
inline constexpr float kMasking = -1e4F;

/// Whether the number hides elements of `value`: up to kHidden (code_forms.h) from whatever reads it, up to kMasking
/// from softmaxes that alone read it.
bool hides(double number, Value value);

/// How far below the largest of its row an element is still told apart where softmaxes alone read `value`, through
/// operators that move it: so that all elements of a row that lie further away add up to less than half a step of codes
/// of `bits`. 0 where anything else reads it.
double reach_of(Value value, int bits);

}  // namespace halfstep::passes

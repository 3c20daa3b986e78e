// What observers see of rows of which a softmax reads no more than how far elements lie below the largest.
#pragma once

#include "halfstep/ir/model.h"

namespace halfstep::passes {

/// Puts max(x, largest of the row - reach) in front of every observer that has a reach and observes, or the ends of its
/// rows where those alone make the range; its reach becomes 0. Rows are the last axis.
void within_reach(Model& model);

/// How far below the largest of its row an element is still told apart where softmaxes alone read `value`, through
/// operators that move it: so that all elements of a row that lie further away add up to less than half a step of codes
/// of `bits`. 0 where anything else reads it.
double reach_of(Value value, int bits);

}  // namespace halfstep::passes

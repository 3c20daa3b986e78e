// Removes operations that have no effect.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Readers of a reshape, reshape_like, flatten, sum_to or transpose that leaves every element at its position read its
/// operand instead. A transpose of a transpose becomes one transpose. A matrix product reads the input of a transpose
/// of its last two axes. An operation that produces an output of its block stays. Bit-exact.
void simplify(Graph& graph);

}  // namespace halfstep::passes

// Operations that change nothing.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Readers of a reshape, reshape_like, flatten, sum_to or transpose that leaves every element where it is read its
/// operand instead; a transpose of a transpose becomes one, and a product of matrices reads what a transpose of its
/// last two axes reads. An operation that produces an output of its block stays. Bit-exact.
void simplify(Graph& graph);

}  // namespace halfstep::passes

// Common subexpression elimination.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Merges operations of one block that have the same operator, attributes and operands into the first of them.
/// Operations stay if they update a tensor, have regions, or produce an output of their block.
void cse(Graph& graph);

}  // namespace halfstep::passes

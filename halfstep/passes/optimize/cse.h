// Common subexpression elimination.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Merges operations in one block with the same operator, attributes and operands: the first one is read instead of the
/// others. Operations that update a tensor, have regions, or produce an output of their block are not merged away.
void cse(Graph& graph);

}  // namespace halfstep::passes

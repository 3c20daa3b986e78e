// Checks of a whole graph, for what comes from outside and after passes.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep {

/// Every value is defined before its uses and where they see it; names are unique and found; attributes are complete;
/// every rule of every record, presence and state pairs hold; inferring again gives the stored types; uses and operands
/// agree. Throws Error that names node and line.
void verify(const Graph& graph);

}  // namespace halfstep

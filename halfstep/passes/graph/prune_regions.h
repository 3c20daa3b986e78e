// What regions take and give that nobody needs.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Of operations with regions, goes without captured and scanned values that nothing in a region reads, results that
/// nobody reads, and loop states that only make themselves. A state that every iteration passes on as it is becomes a
/// captured value, unless its result is an output of the network, whose name is known outside. What is dead in regions
/// goes too. Arguments of regions that change get new names.
void prune_regions(Graph& graph);

}  // namespace halfstep::passes

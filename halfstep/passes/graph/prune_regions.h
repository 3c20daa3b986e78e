// Removes unused region arguments and results.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Removes from operations with regions: captured and scanned values that no region reads, results without a reader,
/// and loop states that only compute themselves. A state that every iteration passes on unchanged becomes a captured
/// value, unless its result is an output of the network, whose name is known outside. Dead code in regions is removed
/// too. Arguments of changed regions get new names.
void prune_regions(Graph& graph);

}  // namespace halfstep::passes

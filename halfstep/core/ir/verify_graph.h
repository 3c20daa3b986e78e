// Checks of a whole graph, for external input and after passes.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep {

/// Checks that every value is defined before its uses and visible there. Names must be unique and resolvable, and
/// attributes complete. Rules, presence and state pairs of every record must hold. Inference must reproduce the stored
/// types, and uses must match operands. Throws Error that names node and line.
void verify(const Graph& graph);

}  // namespace halfstep

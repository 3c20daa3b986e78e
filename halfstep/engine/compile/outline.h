// Separates operations that can be compiled only during a run from the others.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::compiler {

/// Moves operations that read values with dynamic dimensions, and all operations that depend on them, into the region
/// of one `call` at the end of the graph. Does nothing if there are none.
void outline_open(Graph& graph);

}  // namespace halfstep::compiler

// What cannot be compiled before a run, apart from what can.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::compiler {

/// Puts the operations that read values of open extents, and those that read what these make, into the region of one
/// `call` at the end of the graph. Nothing where there are none.
void outline_open(Graph& graph);

}  // namespace halfstep::compiler

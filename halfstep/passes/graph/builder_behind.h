// Insertion point after the definition of a value.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Returns a builder that inserts directly after the operation that produces `value`. For an argument or a tensor it
/// inserts before all operations.
Builder builder_behind(Graph& graph, Value value);

}  // namespace halfstep::passes

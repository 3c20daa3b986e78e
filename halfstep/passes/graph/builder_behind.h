// Where something goes that follows a value.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Builds right behind the operation that gives `value`; for an argument or a tensor in front of all operations.
Builder builder_behind(Graph& graph, Value value);

}  // namespace halfstep::passes

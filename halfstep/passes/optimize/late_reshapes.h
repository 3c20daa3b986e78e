// Reshapes behind what does not mind them.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// A reshape of a linear layer's result moves behind the activation or the sum that alone reads it, where these can
/// join the layer, and reshapes and transposes of others become one. Bits do not change.
void late_reshapes(Graph& graph);

}  // namespace halfstep::passes

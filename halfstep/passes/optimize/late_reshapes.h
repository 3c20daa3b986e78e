// Sinks reshapes below elementwise operators so that these can fuse with the layer.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// A reshape of a linear layer's result moves behind the only activation or sum that reads it, if these can fuse with
/// the layer. Reshapes and transposes of other values are merged. Bits do not change.
void late_reshapes(Graph& graph);

}  // namespace halfstep::passes

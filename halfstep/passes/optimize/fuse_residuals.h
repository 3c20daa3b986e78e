// Fuses the sum of two branches into the layer at the end of one of them.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Applies to the sum of a layer's result and a value of the same extents. The layer is a channels-last fused_conv2d or
/// a linear layer without activation, and only the sum reads its result. It becomes the layer with that value as
/// residual, under the name of the sum. Float results differ by rounding.
void fuse_residuals(Graph& graph);

}  // namespace halfstep::passes

// Sums of two branches joined with the layer at the end of one of them.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// The sum of a fused_conv2d of channels last or a linear layer, read by nobody else and without activation, and a
/// value of the same extents becomes the layer with that value as its residual, under the sum's name. Float results
/// move by rounding.
void fuse_residuals(Graph& graph);

}  // namespace halfstep::passes

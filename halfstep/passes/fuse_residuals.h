// Sums of two branches joined with the convolution at the end of one of them.
#pragma once

#include "halfstep/ir/graph.h"

namespace halfstep::passes {

/// The sum of a fused_conv2d of channels last, read by nobody else and without activation, and a value of the same
/// extents becomes the convolution with that value as its residual, under the sum's name. Float results move by
/// rounding.
void fuse_residuals(Graph& graph);

}  // namespace halfstep::passes

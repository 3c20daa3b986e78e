// Removes transposes of images that become rows of pixels.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Matches an image with channels last that is moved to channels first, has its pixels merged into one axis, and is
/// then moved to rows. The result has the original order, so it becomes one reshape. Bit-exact.
void join_pixels(Graph& graph);

}  // namespace halfstep::passes

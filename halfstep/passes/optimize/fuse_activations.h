// Activations fused into the layer before them.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// conv2d or linear, then an activation that its fused form knows, becomes fused_conv2d or linear_activation. It
/// has the activation's name, so fetches of that value still work; the layer's own value is gone. Left as it is where
/// anything but the activation reads the layer's value, a graph output included. Kernels may round a fused layer
/// differently.
void fuse_activations(Graph& graph);

/// The same for GELU and SiLU, which linear layers have too.
void fuse_curves(Graph& graph);

}  // namespace halfstep::passes

// Fuses activations into the layer before them.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// A conv2d or linear followed by a supported activation becomes a fused_conv2d or linear_activation. It has the
/// activation's name, so fetches of that value still work. The layer's own value no longer exists. Nothing changes if
/// anything but the activation reads the layer's value, including a graph output. Kernels may round a fused layer
/// differently.
void fuse_activations(Graph& graph);

/// Fuses GELU and SiLU, which linear layers also support.
void fuse_curves(Graph& graph);

}  // namespace halfstep::passes

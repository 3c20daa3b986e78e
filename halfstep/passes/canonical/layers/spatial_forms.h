// Layers over one or three spatial axes, and transposed convolutions, in operators that have codes.
#pragma once

#include <functional>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Rewrites layers into conv2d and two-dimensional pools, between operators that move codes. Sums have the same terms,
/// so every result has the same codes as a kernel for the original layer would compute:
///
/// - conv_transpose is a convolution with flipped weights over x with zeros between its elements.
/// - A layer over one axis is a layer over two, of which the first has extent 1.
/// - A convolution over three axes is one over the last two. Its channels are those of all planes in a window.
/// - A resize to the nearest elements selects them along one axis after another.
/// - A maximum over three axes is a maximum over the last two, then over the first. A mean is a mean of gathered
///   windows.
///
/// Weights with one value for each output channel keep the channels on axis 0. Layers stay unchanged if their spatial
/// extents or weights are not known, or if padding would count as elements of a mean.
void spatial_forms(Model& model);

/// A layer in its other form.
struct RewrittenLayer {
  const detail::OpNode* old;        ///< the layer, which no longer exists. It only identifies.
  const detail::ValueNode* result;  ///< the result of `old`
  Op layer;                         ///< its convolution, or else its last operator
};

/// Rewrites the layers for which `wanted` returns true, and returns them in the order of the network.
std::vector<RewrittenLayer> spatial_forms(Model& model, const std::function<bool(Op layer)>& wanted);

/// Moves an activation function that follows a conv2d and operators that move its result to the conv2d, if that `fuses`
/// it.
void activations_before_moves(Graph& graph, const std::function<bool(Op activation)>& fuses);

}  // namespace halfstep::passes

// Known reasons for differences of onnxruntime's float results.
#pragma once

#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/graph.h"
#include "halfstep/fuzz/networks/random_network.h"

namespace halfstep::fuzz {

/// Whether onnxruntime adds pairs of byte products in 16 bits on this machine, as it does without VNNI.
bool engine_saturates();

/// A reason why these outputs of a network may differ from onnxruntime's, or "". Call it only if they differ.
///
/// Its sigmoid and tanh are approximations that reach 0 and exceed 1. A rounding, a logarithm or an atanh after them
/// shows this. Functions outside their domain, and the mean of only padding, are NaN. Its maxima drop NaN, and its
/// normalizations produce it. Its maximum of only padding or NaN is the lowest finite number. Layers on bytes are exact
/// on machines with VNNI.
std::string engine_habit(const Network& network, const Tensors& found, const Tensors& engine);

/// Whether onnxruntime's Resize to the nearest element selects another element, because it computes positions in
/// float32. Example: from 14 to 4 elements, the position of the third is 2 / (4 / 14) = 7, but it computes 6.9999995.
/// The extents of the graph must be known.
bool rounds_places(const Graph& graph);

}  // namespace halfstep::fuzz

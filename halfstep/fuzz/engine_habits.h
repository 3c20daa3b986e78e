// Where onnxruntime's float numbers differ from anybody's for a known reason.
#pragma once

#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/graph.h"
#include "halfstep/fuzz/networks/random_network.h"

namespace halfstep::fuzz {

/// Whether onnxruntime adds pairs of products of bytes in 16 bits, as it does on this machine without VNNI.
bool engine_saturates();

/// Why these outputs of a network may differ from onnxruntime's, or "". Asked only where they do.
///
/// Its sigmoid and tanh are approximations that reach 0 and pass 1, which a rounding, a logarithm or an atanh behind
/// them shows; and functions outside of their domain, a mean of padding alone too, give NaN, which its maxima drop and
/// its normalizations make. A maximum of padding or of NaN alone is the lowest finite number there. Layers on bytes are
/// exact on machines with VNNI.
std::string engine_habit(const Network& network, const Tensors& found, const Tensors& engine);

/// Whether a Resize to the nearest element takes another one there, as its places are computed in float32: of 14 to 4
/// elements the third is 2 / (4 / 14), which becomes 6.9999995. Of graphs whose extents are known.
bool rounds_places(const Graph& graph);

}  // namespace halfstep::fuzz

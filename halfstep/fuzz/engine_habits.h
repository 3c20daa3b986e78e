// Where onnxruntime's float numbers differ from anybody's for a known reason.
#pragma once

#include <string>

#include "halfstep/base/tensor.h"
#include "halfstep/fuzz/network.h"

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

}  // namespace halfstep::fuzz

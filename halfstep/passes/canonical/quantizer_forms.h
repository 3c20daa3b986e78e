// Quantizers of other frameworks that a file has as several operations.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Replaces each of these forms in the body by one operator that quantizes and dequantizes
/// (fake_quantize_per_channel_affine, or the operator for one scale):
///
/// - arithmetic (clamp(round(x / s + z)) - z) * s with stored s, one z and any order of the rounding, the clamp and the
///   sum, also where it is added to x as a constant difference (a straight-through estimator)
/// - onnx_quantize_linear and onnx_dequantize_linear, with clamps of the codes between them
/// - stored codes with an onnx_dequantize_linear: their values become a tensor.
///
/// Codes of stored biases, in i32, leave only their values. Notes on quantizers as arithmetic go with the last of them.
void quantizer_forms(Model& model);

}  // namespace halfstep::passes

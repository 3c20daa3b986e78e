// Replaces values between quantizers by their codes, which makes training and chip integers agree bit for bit. See
// docs/arithmetic.md, section 5.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Returns the prepared `model` as a graph of operators on codes. "quantized inputs -> operator -> (bias, activation)
/// -> quantizer" becomes one quantized operator with the name of the operator. Outputs are dequantized under their old
/// names.
/// Observers that are not in test mode then read accumulators. With such observers, or with `training`, quantized
/// operators also output the values that the backward pass reads. Without training, the integers that a weighted
/// operator NAME derives are the values NAME.parameters (see requantization_parameters). A quantizer or an operator
/// outside of all patterns is an error with the reason. Tensors are shared with `model`.
Model quantized_patterns(const Model& model, bool training);

}  // namespace halfstep::passes

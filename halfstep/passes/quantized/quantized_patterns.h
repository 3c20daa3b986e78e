// The pass that makes the promise possible: between quantizers a value is its codes. docs/arithmetic.md, section 5.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// The prepared `model` as a graph of operators on codes: "quantized inputs -> operator -> (bias, activation) ->
/// quantizer" is one quantized operator named as the operator; outputs are dequantized under their old names. Observers
/// that are not in test mode then watch accumulators; with any of them, or with `training`, quantized operators also
/// give what the backward pass reads. Without training the integers that a weighted operator NAME derives are the
/// values NAME.parameters (see requantization_parameters). A quantizer or an operator that no pattern takes in is an
/// error that says why. Tensors are shared with `model`.
Model quantized_patterns(const Model& model, bool training);

}  // namespace halfstep::passes

// Converts a prepared network into an integer program. The program has stored codes and derived integers. No operator
// between quantize and dequantize computes in float, except for the float fallbacks that the options allow.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/convert/options.h"
#include "halfstep/quant/prepare/accumulators.h"
#include "halfstep/quant/prepare/float_fallback.h"

namespace halfstep::quant {

struct Conversion {
  Model model;
  std::vector<AccumulatorProof> proofs;  ///< one for each layer that accumulates, in graph order
  std::vector<FloatFallback> fallbacks;
};

/// Derives codes, biases, multipliers and shifts from the float32 tensors of `prepared` (docs/arithmetic.md, section
/// 4). Reads no platform, because the attributes of the quantizers contain the rules. Throws an Error that lists every
/// layer and channel if a shift or factor is out of range, an accumulator could overflow, or an operator has no integer
/// implementation. Throws bad_input if the network is not calibrated. The Model's metadata (float_operators) names the
/// float fallbacks.
Conversion convert(const Model& prepared, const ConvertOptions& options = {});

/// Throws unsupported, with the names of all operators that `convert` would refuse to leave in float.
void require_integers(const Model& prepared, const ConvertOptions& options);

/// Throws if no quantizer of a prepared network, with its learned parts closed, belongs to an activation.
void require_activations(const Model& prepared);

/// Throws if an integer program has an operator on floats other than float fallbacks, dequantize, and quantize at
/// inputs or after float fallbacks. The message names the operator.
void require_program(const Model& model);

}  // namespace halfstep::quant

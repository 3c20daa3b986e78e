// A prepared network becomes an integer program: stored codes and derived integers, no float between quantize and
// dequantize but for the islands that are asked for.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/convert/options.h"
#include "halfstep/quant/prepare/accumulators.h"
#include "halfstep/quant/prepare/float_islands.h"

namespace halfstep::quant {

struct Conversion {
  Model model;
  std::vector<AccumulatorProof> proofs;  ///< one for each layer that accumulates, in graph order
  std::vector<FloatIsland> islands;
};

/// Derives codes, biases, multipliers and shifts from the float32 tensors of `prepared` (docs/arithmetic.md, section
/// 4). It reads no platform: the rules are attributes of the quantizers. Throws a Error with every layer and channel
/// where a shift or factor leaves its range, an accumulator could overflow, or an operator has no integer form;
/// bad_input when the network was never calibrated. Islands are named in the Model's metadata (float_operators).
Conversion convert(const Model& prepared, const ConvertOptions& options = {});

/// Throws unsupported, naming them, for operators of a prepared network that convert would refuse to leave in float.
void require_integers(const Model& prepared, const ConvertOptions& options);

/// Throws, naming the operator, for an integer program with an operator on floats other than its islands, quantize at
/// its inputs and behind islands, and dequantize.
void require_program(const Model& model);

}  // namespace halfstep::quant

// A prepared network becomes an integer program: stored codes and derived integers, no float between quantize and
// dequantize.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/ir/model.h"

namespace halfstep::quant {

/// The proof that a layer's int32 accumulator cannot overflow: the largest magnitude over all channels is below 2^31.
struct AccumulatorProof {
  std::string layer;
  int64_t bound;
};

struct Conversion {
  Model model;
  std::vector<AccumulatorProof> proofs;  ///< one for each weighted layer, in graph order
};

/// Derives codes, biases, multipliers and shifts from the float32 tensors of `prepared` (docs/arithmetic.md, section
/// 4). It reads no platform: the rules are attributes of the quantizers. Throws unsupported, naming layer and channel,
/// where a shift or factor leaves its range, an accumulator could overflow, or an operator has no integer form;
/// bad_input when the network was never calibrated.
Conversion convert(const Model& prepared);

/// Whether `model` is an integer program, and that it has no operator on floats other than quantize at its inputs and
/// dequantize at its outputs; throws, naming the operator, when it only claims to be one.
bool is_integer(const Model& model);

}  // namespace halfstep::quant

// The tensors of one integer layer with weights.
#pragma once

#include <string>

#include "halfstep/core/arith/code.h"
#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::quant {

/// Codes as the integer program sees them: how a value's codes read as reals.
struct CodeFormat {
  float scale = 1.0F;
  int32_t zero_point = 0;
  int32_t code_min = 0;
  int32_t code_max = 255;
};

/// What the float side of a weighted layer says.
struct WeightedLayer {
  std::string where;        ///< for messages
  Tensor w;                 ///< f32, output channels first
  Tensor b;                 ///< f32, or undefined
  Tensor w_scale;           ///< f32 [1] or [channels]
  arith::CodeRule weights;  ///< rule of their codes
  DType code_type = DType::i8;
  CodeFormat x, y;
  arith::RequantizeRule rule;
};

/// What the integer side stores. The negative factors are defined for leaky_relu only, and no multipliers for shifts
/// alone; forms that keep scales have the weights' in place of all of them. Biases are codes, and real for an engine.
struct IntegerTensors {
  Tensor w, b, shift, multiplier, negative_shift, negative_multiplier, w_scale;
  int64_t accumulator_bound = 0;
};

/// Throws unsupported with the channel when a shift, a factor or the accumulator leaves its range.
IntegerTensors integer_tensors(const WeightedLayer& layer);

/// The rule of a quantizer's codes.
arith::CodeRule code_rule(const ops::FakeQuantize& quantizer);

/// Codes of a float32 tensor that is read as a feature.
Tensor stored_codes(const Tensor& reals, const CodeFormat& format, const arith::CodeRule& rule, DType type);

}  // namespace halfstep::quant

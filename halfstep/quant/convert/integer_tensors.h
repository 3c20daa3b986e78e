// Derives the stored tensors of an integer layer with weights.
#pragma once

#include <string>

#include "halfstep/core/arith/code.h"
#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::quant {

/// Scale, zero point and range of the codes of a value in the integer program.
struct CodeFormat {
  float scale = 1.0F;
  int32_t zero_point = 0;
  int32_t code_min = 0;
  int32_t code_max = 255;
};

/// Float parameters of a layer with weights, the input of integer_tensors.
struct WeightedLayer {
  std::string where;        ///< name of the layer for messages
  Tensor w;                 ///< f32, output channels first
  Tensor b;                 ///< f32, may be undefined
  Tensor w_scale;           ///< f32 [1] or [channels]
  arith::CodeRule weights;  ///< rounding and range of the weight codes
  DType code_type = DType::i8;
  CodeFormat x, y;
  arith::RequantizeRule rule;
};

/// Stored tensors of an integer layer. Negative factors are defined for leaky_relu only. Multipliers are undefined if
/// the form uses shifts alone. Forms that keep scales store w_scale instead of shifts and multipliers. Biases are
/// codes, or real values for an engine.
struct IntegerTensors {
  Tensor w, b, shift, multiplier, negative_shift, negative_multiplier, w_scale;
  int64_t accumulator_bound = 0;
};

/// Throws unsupported, with the channel, if a shift, a factor or the accumulator is out of range.
IntegerTensors integer_tensors(const WeightedLayer& layer);

/// Rounding and range of the quantizer's codes.
arith::CodeRule code_rule(const ops::FakeQuantize& quantizer);

/// Codes of a float32 tensor that an operator reads as an activation.
Tensor stored_codes(const Tensor& floats, const CodeFormat& format, const arith::CodeRule& rule, DType type);

}  // namespace halfstep::quant

// Parts that the kernels of quantize_per_* and dequantize_per_* share.
#pragma once

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/torch/codes.h"

namespace halfstep::kernels::torch {

/// Arithmetic of the zero point.
enum class CodeForm {
  wrapping,    ///< int32 with wrap-around: 8-bit codes of one scale, and dequantizing with one scale
  saturating,  ///< added after rounding, saturating. Dequantizes in float64
  float_zero   ///< added before rounding. Dequantizes in float32
};

/// One use of such an operator. Operand 0 is x or the codes. Operands 1 and 2 are the scale and zero point by channel.
struct CodeChannels {
  CodeForm form = CodeForm::saturating;
  DType float_type = DType::f32, code_type = DType::u8;
  Channels channels;
  bool per_channel = false;
  CodeParameters fixed;

  /// `Op` is the generated struct of the operator.
  template <class Op>
  static CodeChannels of(const Problem& problem);

  CodeParameterSource parameters(const Call& call) const;
  /// Checks that the integer zero points of channels are codes.
  Status check(const Call& call) const;
  /// Error for the illegal zero point `zero` of a channel.
  Status refused(const CodeParameterSource& source, int64_t channel, double zero) const;
};

/// Calls body.template operator()<Code>() with the C++ type of u8, i8 or i32.
template <class Body>
decltype(auto) with_code(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::i8: return body.template operator()<int8_t>();
    case DType::i32: return body.template operator()<int32_t>();
    default: break;
  }
  HS_CHECK(dtype == DType::u8);
  return body.template operator()<uint8_t>();
}

}  // namespace halfstep::kernels::torch

// Parts that the com.microsoft operators share: functions of one code, and sums of two.
#pragma once

#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/onnx/parameters.h"

namespace halfstep::kernels::onnx {

/// Scale and zero point of the input and the output.
struct CodeScales {
  float x_scale;
  int32_t x_zero_point;
  float y_scale;
  int32_t y_zero_point;
  CodeRange range;
};

/// A function from codes to codes: identity, leaky relu or sigmoid.
struct CodeFunction {
  enum class Kind { identity, leaky_relu, sigmoid };
  Kind kind = Kind::identity;
  float alpha = 0;

  static CodeFunction of(const QlinearLeakyRelu& attributes) {
    return {Kind::leaky_relu, static_cast<float>(attributes.alpha)};
  }
  static CodeFunction of(const QlinearSigmoid&) { return {Kind::sigmoid}; }

  int32_t code(int32_t x, const CodeScales& scales) const {
    float value = real_of(x, scales.x_zero_point, scales.x_scale);
    if (kind == Kind::leaky_relu) value = leaky_relu(value, alpha);
    if (kind == Kind::sigmoid) value = sigmoid(value);
    return saturated_code(value / scales.y_scale, scales.y_zero_point, scales.range);
  }
};

/// The scales and zero points of qlinear_leaky_relu and qlinear_sigmoid.
template <class Op>
CodeScales code_scales(const Call& call) {
  return {scale_at(call.in[Op::in::x_scale]), code_at(call.in[Op::in::x_zero_point]),
          scale_at(call.in[Op::in::y_scale]), code_at(call.in[Op::in::y_zero_point]),
          range_of(call.out[Op::out::y].dtype)};
}

/// Computes the results for all codes, indexed by the bits of the code.
template <class Code>
void fill_table(const CodeFunction& function, const CodeScales& scales, Code (&table)[256]) {
  for (int i = 0; i < 256; ++i)
    table[i] = static_cast<Code>(function.code(static_cast<Code>(static_cast<uint8_t>(i)), scales));
}

inline arith::FloatSum add_rule(const Call& call) {
  using In = QlinearAdd::in;
  return arith::FloatSum::of(scale_at(call.in[In::a_scale]), code_at(call.in[In::a_zero_point]),
                             scale_at(call.in[In::b_scale]), code_at(call.in[In::b_zero_point]),
                             scale_at(call.in[In::y_scale]), code_at(call.in[In::y_zero_point]));
}

}  // namespace halfstep::kernels::onnx

#include "halfstep/engine/kernels/quantizers/onnx/parameters.h"

#include <limits>

namespace halfstep::kernels::onnx {

SmallCodes small_codes(DType dtype, bool saturate) {
  const SmallFloat format = SmallFloat::of(dtype);
  const auto code = [&](double value) { return uint32_t{encode(value, format, saturate)}; };
  return {format.mantissa_bits,
          format.bias,
          code(format.largest()),
          code(std::numeric_limits<double>::infinity()),
          code(std::numeric_limits<double>::quiet_NaN()),
          1U << (format.exponent_bits + format.mantissa_bits),
          format.top != TopCodes::fnuz};
}

QuantizeRule QuantizeRule::of(DType scale, DType result, bool saturate) {
  QuantizeRule rule;
  rule.small = is_small_float(result);
  rule.in_bfloat16 = scale == DType::bf16;
  rule.wraps = scale != DType::f32 || bits_of(result) == 2;
  if (rule.small) {
    rule.codes = small_codes(result, saturate);
  } else {
    rule.range = range_of(result);
  }
  return rule;
}

}  // namespace halfstep::kernels::onnx

// Real value to code and back. docs/arithmetic.md, section 2.
#pragma once

#include <algorithm>
#include <cstdint>

#include "halfstep/core/arith/rounding.h"

namespace halfstep::arith {

/// How a quantizer finds codes.
struct CodeRule {
  int32_t code_min = 0;
  int32_t code_max = 255;
  bool reciprocal = false;  ///< multiply by the float32 reciprocal of the scale instead of dividing
  Rounding rounding = Rounding::half_even;
};

/// x in steps of the scale, before rounding.
HS_HOST_DEVICE inline float steps_of(float x, float scale, const CodeRule& rule) {
  return rule.reciprocal ? x * (1.0F / scale) : x / scale;
}

/// The code before the clamp, as a whole float32 (or NaN, or infinite).
HS_HOST_DEVICE inline float unclamped_code(float x, float scale, int32_t zero_point, const CodeRule& rule) {
  return round_to(steps_of(x, scale, rule), rule.rounding) + static_cast<float>(zero_point);
}

/// NaN gives code_min.
HS_HOST_DEVICE inline int32_t clamp_code(float unclamped, const CodeRule& rule) {
  const auto low = static_cast<float>(rule.code_min);
  const auto high = static_cast<float>(rule.code_max);
  if (!(unclamped >= low)) return rule.code_min;
  return unclamped > high ? rule.code_max : static_cast<int32_t>(unclamped);
}

HS_HOST_DEVICE inline int32_t code_of(float x, float scale, int32_t zero_point, const CodeRule& rule) {
  return clamp_code(unclamped_code(x, scale, zero_point, rule), rule);
}

/// Whether the straight-through gradient passes: the code before the clamp is inside, edges included.
HS_HOST_DEVICE inline bool passes_gradient(float unclamped, const CodeRule& rule) {
  return unclamped >= static_cast<float>(rule.code_min) && unclamped <= static_cast<float>(rule.code_max);
}

/// The LSQ slope of the dequantized value over the scale (Esser et al., "Learned step size quantization", ICLR 2020,
/// equation 3), with the zero point taken off. `unclamped` must not be NaN.
HS_HOST_DEVICE inline double scale_slope(float steps, float unclamped, int32_t zero_point, const CodeRule& rule) {
  const double zero = static_cast<float>(zero_point);
  if (unclamped < static_cast<float>(rule.code_min)) return rule.code_min - zero;
  if (unclamped > static_cast<float>(rule.code_max)) return rule.code_max - zero;
  return static_cast<double>(unclamped) - zero - static_cast<double>(steps);
}

/// The difference is taken in float32: exact, as every code and zero point is below 2^24 in magnitude, and no overflow
/// for any other.
HS_HOST_DEVICE inline float real_of(int32_t code, float scale, int32_t zero_point) {
  return (static_cast<float>(code) - static_cast<float>(zero_point)) * scale;
}

}  // namespace halfstep::arith

// Conversion from real values to codes and back. docs/arithmetic.md, section 2.
#pragma once

#include <algorithm>
#include <cstdint>

#include "halfstep/core/arith/rounding.h"

namespace halfstep::arith {

/// Rule for rounding and clamping to codes.
struct CodeRule {
  int32_t code_min = 0;
  int32_t code_max = 255;
  bool reciprocal = false;  ///< multiply by the float32 reciprocal of the scale instead of dividing
  Rounding rounding = Rounding::half_even;
};

/// Returns x in steps of the scale, before rounding.
HS_HOST_DEVICE inline float steps_of(float x, float scale, const CodeRule& rule) {
  return rule.reciprocal ? x * (1.0F / scale) : x / scale;
}

/// Returns the code before the clamp, as a float32 with an integer value (or NaN, or infinite).
HS_HOST_DEVICE inline float unclamped_code(float x, float scale, int32_t zero_point, const CodeRule& rule) {
  return round_to(steps_of(x, scale, rule), rule.rounding) + static_cast<float>(zero_point);
}

/// Returns the clamped code. NaN becomes code_min.
HS_HOST_DEVICE inline int32_t clamp_code(float unclamped, const CodeRule& rule) {
  const auto low = static_cast<float>(rule.code_min);
  const auto high = static_cast<float>(rule.code_max);
  if (!(unclamped >= low)) return rule.code_min;
  return unclamped > high ? rule.code_max : static_cast<int32_t>(unclamped);
}

HS_HOST_DEVICE inline int32_t code_of(float x, float scale, int32_t zero_point, const CodeRule& rule) {
  return clamp_code(unclamped_code(x, scale, zero_point, rule), rule);
}

/// Whether the straight-through gradient passes: the code before the clamp is in [code_min, code_max].
HS_HOST_DEVICE inline bool passes_gradient(float unclamped, const CodeRule& rule) {
  return unclamped >= static_cast<float>(rule.code_min) && unclamped <= static_cast<float>(rule.code_max);
}

/// LSQ gradient of the dequantized value with respect to the scale (Esser et al., "Learned step size quantization",
/// ICLR 2020, equation 3), extended by the zero point. `unclamped` must not be NaN.
HS_HOST_DEVICE inline double scale_slope(float steps, float unclamped, int32_t zero_point, const CodeRule& rule) {
  const double zero = static_cast<float>(zero_point);
  if (unclamped < static_cast<float>(rule.code_min)) return rule.code_min - zero;
  if (unclamped > static_cast<float>(rule.code_max)) return rule.code_max - zero;
  return static_cast<double>(unclamped) - zero - static_cast<double>(steps);
}

/// Returns the dequantized value. The float32 difference is exact, because codes and zero points are below 2^24 in
/// magnitude. Larger ones cannot overflow.
HS_HOST_DEVICE inline float real_of(int32_t code, float scale, int32_t zero_point) {
  return (static_cast<float>(code) - static_cast<float>(zero_point)) * scale;
}

}  // namespace halfstep::arith

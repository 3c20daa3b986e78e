// The float32 form of requantization, which is onnxruntime's on processors with FMA. docs/arithmetic.md, sections 4 and
// 9. Every operation is one in float32, in this order.
#pragma once

#include <cmath>
#include <cstdint>

#include "halfstep/base/host_device.h"

namespace halfstep::arith {

/// From an exact sum of products of codes to steps of the result.
HS_HOST_DEVICE inline float float_product_factor(float x_scale, float w_scale, float y_scale) {
  return x_scale * w_scale / y_scale;
}
/// From a sum over `count` codes to steps of their average.
HS_HOST_DEVICE inline float float_pool_factor(float x_scale, float y_scale, float count) {
  return x_scale / (y_scale * count);
}

/// Beyond any code and zero point: steps saturate there, so that a zero point can be added to them in int32.
inline constexpr float kMostSteps = 0x1p30F;

/// The nearest whole number, half to even.
HS_HOST_DEVICE inline int32_t whole_steps(float steps) {
  const float saturated = steps > kMostSteps ? kMostSteps : steps < -kMostSteps ? -kMostSteps : steps;
  return static_cast<int32_t>(std::nearbyint(saturated));
}

/// rint(acc * factor): the zero point is added behind it. The accumulator becomes a float32 in one rounding.
HS_HOST_DEVICE inline int32_t scale_float(int64_t acc, float factor) {
  return whole_steps(static_cast<float>(acc) * factor);
}

/// A product of two values of codes: the zero point is inside the rounding, the sum rounded by itself.
HS_HOST_DEVICE inline int32_t float_product_code(int64_t acc, float factor, int32_t zero_point) {
  return whole_steps(static_cast<float>(acc) * factor + static_cast<float>(zero_point));
}

/// A sum of two values of codes, with everything that does not depend on the element worked out.
struct FloatSum {
  float a_ratio = 1.0F, b_ratio = 1.0F, offset = 0.0F;

  HS_HOST_DEVICE static FloatSum of(float a_scale, int32_t a_zero_point, float b_scale, int32_t b_zero_point,
                                    float y_scale, int32_t y_zero_point) {
    const float a_ratio = a_scale / y_scale, b_ratio = b_scale / y_scale;
    const float zero = std::fma(a_ratio, static_cast<float>(a_zero_point), b_ratio * static_cast<float>(b_zero_point));
    return {a_ratio, b_ratio, static_cast<float>(y_zero_point) - zero};
  }
  /// The code before rounding, zero point included.
  HS_HOST_DEVICE float steps(int32_t a, int32_t b) const {
    return std::fma(static_cast<float>(a), a_ratio, std::fma(static_cast<float>(b), b_ratio, offset));
  }
  /// The code before the clamp.
  HS_HOST_DEVICE int32_t code(int32_t a, int32_t b) const { return whole_steps(steps(a, b)); }
};

}  // namespace halfstep::arith

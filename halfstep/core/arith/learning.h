// Learnable quantizers beyond affine ones: the arithmetic of ops/learning.yaml. docs/arithmetic.md, section 2.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "halfstep/core/arith/code.h"

namespace halfstep::arith {

/// A differentiable step between two levels (DSQ; Gong et al., ICCV 2019).
struct SoftStep {
  float height, steepness;

  /// `softness` is between 0 and 1/2.
  explicit SoftStep(double softness) {
    const double t = 1.0 / (1.0 - softness);
    height = static_cast<float>(t);
    steepness = static_cast<float>(std::log((t + 1.0) / (t - 1.0)));
  }
  /// Slope at u = x in steps, zero point included.
  HS_HOST_DEVICE float slope(float u) const {
    const float bent = std::tanh(steepness * (u - std::floor(u) - 0.5F));
    return 0.5F * height * steepness * (1.0F - bent * bent);
  }
};

/// Rounding offset of a weight element, 0 (down) to 1 (up), from an unbounded parameter (AdaRound; Nagel et al., ICML
/// 2020).
struct Rectified {
  static constexpr float kStretch = 1.2F, kBelow = 0.1F;

  HS_HOST_DEVICE static float sigmoid(float choice) { return 1.0F / (1.0F + std::exp(-choice)); }
  HS_HOST_DEVICE static float stretched(float choice) { return sigmoid(choice) * kStretch - kBelow; }
  HS_HOST_DEVICE static float value(float choice) {
    const float h = stretched(choice);
    return h < 0.0F ? 0.0F : h > 1.0F ? 1.0F : h;
  }
  HS_HOST_DEVICE static float slope(float choice) {
    const float h = stretched(choice), s = sigmoid(choice);
    return h >= 0.0F && h <= 1.0F ? kStretch * s * (1.0F - s) : 0.0F;
  }
  /// Returns the parameter whose value is `fraction`, which is in 0..1.
  static float choice_of(float fraction) { return -std::log(kStretch / (fraction + kBelow) - 1.0F); }
};

/// Returns the code before the clamp: x in steps, rounded down, plus `up` (0 to 1) and the zero point.
HS_HOST_DEVICE inline float code_between(float x, float up, float scale, int32_t zero_point, const CodeRule& rule) {
  return std::floor(steps_of(x, scale, rule)) + up + static_cast<float>(zero_point);
}

/// Returns (code - zero_point) * scale of a clamped, possibly fractional code. NaN becomes code_min.
HS_HOST_DEVICE inline float real_between(float unclamped, float scale, int32_t zero_point, const CodeRule& rule) {
  const auto low = static_cast<float>(rule.code_min), high = static_cast<float>(rule.code_max);
  const float code = !(unclamped >= low) ? low : unclamped > high ? high : unclamped;
  return (code - static_cast<float>(zero_point)) * scale;
}

/// Converts a learned zero point to a code: clamped, and rounded half to even. NaN becomes code_min.
HS_HOST_DEVICE inline int32_t whole_offset(float offset, int32_t code_min, int32_t code_max) {
  return clamp_code(round_to(offset, Rounding::half_even), {code_min, code_max});
}

/// Returns 2^ceil(log2_scale), between 2^-126 and 2^127.
inline float threshold_scale(float log2_scale) {
  const float exponent = std::clamp(std::ceil(log2_scale), -126.0F, 127.0F);
  return std::ldexp(1.0F, static_cast<int>(exponent));
}

/// Margin added to the largest magnitude of the hyperbolic tangents before division by it (DoReFa; Zhou et al., 2016).
inline constexpr float kMagnitudeMargin = 1e-5F;

}  // namespace halfstep::arith

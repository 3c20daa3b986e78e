// PyTorch's integer codes of one element (docs/arithmetic.md, section 10).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "halfstep/core/base/host_device.h"
#include "halfstep/engine/kernels/common/numbers.h"

namespace halfstep::kernels::torch {

/// The largest float32 that int32 holds.
inline constexpr float kTopSteps = 2147483520.0F;
inline constexpr float kBottomSteps = -0x1p31F;

HS_HOST_DEVICE constexpr int32_t wrapped_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
HS_HOST_DEVICE constexpr int32_t wrapped_difference(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

/// 8-bit code under one scale. NaN becomes kTopSteps, the largest steps in int32. The zero point is added with
/// wrap-around.
template <class Code>
HS_HOST_DEVICE Code wrapping_code(float x, float inverse, int32_t zero_point) {
  const float product = x * inverse;
  const float steps = std::nearbyint(product < kTopSteps ? product : kTopSteps);
  const int32_t whole = static_cast<int32_t>(steps > kBottomSteps ? steps : kBottomSteps);
  const int32_t code = wrapped_sum(whole, zero_point);
  constexpr int32_t kLow = std::numeric_limits<Code>::min();
  constexpr int32_t kHigh = std::numeric_limits<Code>::max();
  return static_cast<Code>(code < kLow ? kLow : code > kHigh ? kHigh : code);
}

/// Saturates the integer `code`. NaN becomes 0 in 8 bits, and the lowest code in 32 bits.
template <class Code>
HS_HOST_DEVICE Code saturated(double code) {
  constexpr double kLow = std::numeric_limits<Code>::min();
  constexpr double kHigh = std::numeric_limits<Code>::max();
  if (std::isnan(code)) return sizeof(Code) == 1 ? Code(0) : std::numeric_limits<Code>::min();
  return static_cast<Code>(code < kLow ? kLow : code > kHigh ? kHigh : code);
}

/// Adds the zero point after rounding. float64 holds every int32, and every sum of two, exactly.
template <class Code>
HS_HOST_DEVICE Code saturating_code(float x, float inverse, double zero_point) {
  return saturated<Code>(static_cast<double>(std::nearbyint(x * inverse)) + zero_point);
}

/// Adds a float zero point before rounding, fused with the product.
template <class Code>
HS_HOST_DEVICE Code fused_code(float x, float inverse, float zero_point) {
  return saturated<Code>(std::nearbyint(std::fma(x, inverse, zero_point)));
}

/// Value of a code under one scale.
HS_HOST_DEVICE inline float real_of(int32_t code, float scale, int32_t zero_point) {
  return static_cast<float>(wrapped_difference(code, zero_point)) * scale;
}
/// Value of a code of a channel with an integer zero point.
HS_HOST_DEVICE inline float wide_real_of(int32_t code, double scale, double zero_point) {
  return static_cast<float>((static_cast<double>(code) - zero_point) * scale);
}
/// Value of a code of a channel with a float zero point.
HS_HOST_DEVICE inline float single_real_of(int32_t code, float scale, float zero_point) {
  return (static_cast<float>(code) - zero_point) * scale;
}

/// A scale and a zero point. The zero point is an integer unless it is added before rounding.
struct CodeParameters {
  double scale = 1.0, zero_point = 0.0;

  HS_HOST_DEVICE float inverse() const { return 1.0F / static_cast<float>(scale); }
};

/// The parameters of each channel, or of the whole tensor.
struct CodeParameterSource {
  bool per_channel = false;
  CodeParameters fixed;       ///< parameters of the tensor, unless `per_channel`
  Numbers scale, zero_point;  ///< by channel
  bool bounded = false;       ///< zero points must be in [low, high]
  double low = 0.0, high = 0.0;

  HS_HOST_DEVICE CodeParameters of(int64_t channel) const {
    if (!per_channel) return fixed;
    return {scale.at<double>(channel), zero_point.at<double>(channel)};
  }
  /// Whether zero points have to be checked.
  bool checks() const { return bounded; }
  HS_HOST_DEVICE bool is_legal(double zero) const { return !bounded || !(zero < low || zero > high); }
  HS_HOST_DEVICE bool is_legal_at(int64_t channel) const {
    return !bounded || is_legal(zero_point.at<double>(channel));
  }
};

}  // namespace halfstep::kernels::torch

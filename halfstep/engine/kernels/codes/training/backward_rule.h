// The backward rule of a requantization (docs/arithmetic.md, section 5).
#pragma once

#include <limits>

#include "halfstep/engine/kernels/codes/rule.h"

namespace halfstep::kernels {

/// The gradient mask, and the derivative of the dequantized output over its scale (Esser et al., "Learned step size
/// quantization", ICLR 2020, equation 3, minus the zero point).
struct BackwardRule {
  arith::Clamp clamp;
  int32_t zero_point = 0;
  /// Slopes for clamped codes. A slope is the distance of the clamp's end from the zero point, so that it is 0 at the
  /// low end of relu. At the high end of relu6 it is 0, because that value does not change with the scale.
  double low_slope = 0.0, high_slope = 0.0;

  BackwardRule(const RequantizeRule& rule, float y_scale, int32_t y_zero_point)
      : clamp(rule.clamp(y_scale, y_zero_point)), zero_point(y_zero_point) {
    const bool six = rule.activation == arith::Activation::relu6 && clamp.high < rule.codes.high;
    low_slope = static_cast<double>(clamp.low) - zero_point;
    high_slope = six ? 0.0 : static_cast<double>(clamp.high) - zero_point;
  }

  /// The accumulators whose codes are inside the clamp. They form a range, because codes never decrease while
  /// accumulators increase.
  arith::Clamp accumulators(const arith::Requantizer& requantizer) const {
    const auto first_from = [&](int64_t code) {
      int64_t begin = std::numeric_limits<int32_t>::min(), end = int64_t{std::numeric_limits<int32_t>::max()} + 1;
      while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (arith::requantize(requantizer, middle, zero_point) < code) {
          begin = middle + 1;
        } else {
          end = middle;
        }
      }
      return begin;
    };
    const int64_t low = first_from(clamp.low), high = first_from(int64_t{clamp.high} + 1) - 1;
    if (low > high) return {1, 0};
    return {static_cast<int32_t>(low), static_cast<int32_t>(high)};
  }

  /// Derivative over the scale. `code` is before the clamp, and `r` is the float value in steps of the scale.
  double scale_slope(int64_t code, double r) const {
    if (code < clamp.low) return low_slope;
    if (code > clamp.high) return high_slope;
    return static_cast<double>(code - zero_point) - r;
  }
};

}  // namespace halfstep::kernels

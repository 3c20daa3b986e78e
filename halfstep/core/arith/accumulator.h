// Bounds of accumulators. docs/arithmetic.md, section 6.
#pragma once

#include <algorithm>
#include <cstdint>

#include "halfstep/core/arith/requantization.h"

namespace halfstep::arith {

/// Largest 32-bit accumulator. Layers with weights and all operators of PyTorch's engines have 32-bit accumulators.
inline constexpr int64_t kMostInInt32 = (int64_t{1} << 31) - 1;
/// Largest magnitude of the argument of `scale` (multiplier.h).
inline constexpr int64_t kMostScaled = int64_t{1} << 47;
/// float32 represents all integers up to this magnitude exactly.
inline constexpr int64_t kMostInFloat32 = int64_t{1} << 24;

/// Largest magnitude that a form of requantization accepts from an operator without weights.
constexpr int64_t most_accumulated(Requantization form) {
  return traits(form).keeps_scales ? kMostInInt32 : kMostScaled;
}

/// The largest of |code - zero_point| over codes in [low, high].
constexpr int64_t farthest_step(int64_t low, int64_t high, int64_t zero_point) {
  return std::max(std::max(low - zero_point, zero_point - low), std::max(high - zero_point, zero_point - high));
}

/// Largest possible magnitude of an accumulator. weight_sum = sum |w| over the channel's weight codes. Codes of x are
/// in [x_min, x_max].
constexpr int64_t accumulator_bound(int64_t weight_sum, int32_t x_min, int32_t x_max, int32_t x_zero_point,
                                    int32_t bias) {
  return weight_sum * farthest_step(x_min, x_max, x_zero_point) + (bias < 0 ? -int64_t{bias} : int64_t{bias});
}

}  // namespace halfstep::arith

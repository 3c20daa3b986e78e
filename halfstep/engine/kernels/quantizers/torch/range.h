// Scale and zero point of a range, as PyTorch's fused operator and observers derive them (docs/arithmetic.md, section
// 10).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "halfstep/core/base/host_device.h"

namespace halfstep::kernels::torch {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Smaller of both. NaN in either operand makes the result NaN. A zero is always +0, so that the order does not matter.
HS_HOST_DEVICE inline float lower(float a, float b) { return (std::isnan(a) || a < b ? a : b) + 0.0F; }
HS_HOST_DEVICE inline float higher(float a, float b) { return (std::isnan(a) || a > b ? a : b) + 0.0F; }

/// Extremes of the observed elements. +inf and -inf mean that there were none.
struct Extremes {
  float low = kInfinity, high = -kInfinity;

  HS_HOST_DEVICE bool seen() const { return !(low == kInfinity && high == -kInfinity); }
  HS_HOST_DEVICE Extremes with(const Extremes& other) const {
    return {lower(low, other.low), higher(high, other.high)};
  }
};

/// old + rate * (now - old) in float32.
HS_HOST_DEVICE inline float moved(float old, float now, float rate) { return old + rate * (now - old); }

/// A scale with an integer zero point.
struct WholeParameters {
  float scale;
  int32_t zero_point;
};

/// Attributes of the fused operator.
struct FusedGrid {
  int32_t low, high;
  bool symmetric;
};

/// The fused operator raises smaller scales to this value and stretches the range.
inline constexpr float kSmallestScale = 6.1e-5F;

namespace fused {

/// A range in float32 that contains 0, and its scale.
struct Range {
  float low, high;
  double scale = 0.0;
};

/// Moves both ends as far from 0 as the wider one, measured in steps of the codes on their side.
HS_HOST_DEVICE inline Range balanced(float low, float high, const FusedGrid& grid) {
  const int32_t half = (grid.high - grid.low) / 2;
  const double below = std::fabs(static_cast<double>(low) / -(half + 1));
  const double above = std::fabs(static_cast<double>(high) / half);
  const double widest = below > above ? below : above;
  return {static_cast<float>(widest * -(half + 1)), static_cast<float>(widest * half)};
}

HS_HOST_DEVICE inline Range scaled(Range range, const FusedGrid& grid) {
  const int32_t steps = grid.high - grid.low;
  range.scale = (static_cast<double>(range.high) - range.low) / steps;
  const auto single = static_cast<float>(range.scale);
  if (single == 0.0F || std::isinf(1.0F / single)) range.scale = 0.1;
  if (!(range.scale < kSmallestScale)) return range;
  const auto grow = static_cast<float>(kSmallestScale / range.scale);
  if (range.low == 0.0F) {
    range.high = kSmallestScale * static_cast<float>(steps);
  } else if (range.high == 0.0F) {
    range.low = -kSmallestScale * static_cast<float>(steps);
  } else {
    range.low *= grow;
    range.high *= grow;
  }
  range.scale = kSmallestScale;
  return range;
}

/// The zero point from the end of the range with the smaller error.
HS_HOST_DEVICE inline double zero_of(const Range& range, const FusedGrid& grid) {
  const double low = range.low / range.scale;
  const double high = range.high / range.scale;
  const double low_error = std::abs(grid.low) - std::fabs(low);
  const double high_error = std::abs(grid.high) - std::fabs(high);
  return low_error < high_error ? grid.low - low : grid.high - high;
}

/// Rounds and clamps the zero point. NaN becomes the lowest int32.
HS_HOST_DEVICE inline int32_t nudged(double zero, const FusedGrid& grid) {
  if (zero < grid.low) return grid.low;
  if (zero > grid.high) return grid.high;
  return std::isnan(zero) ? std::numeric_limits<int32_t>::min() : static_cast<int32_t>(std::nearbyint(zero));
}

}  // namespace fused

/// The parameters of the fused operator. The division is in float64. Ranges are made symmetric only if they have both
/// signs.
HS_HOST_DEVICE inline WholeParameters fused_parameters(const Extremes& seen, const FusedGrid& grid) {
  fused::Range range{lower(seen.low, 0.0F), higher(seen.high, 0.0F)};
  const bool balance = grid.symmetric && range.low < 0.0F && 0.0F < range.high;
  if (balance) range = fused::balanced(range.low, range.high, grid);
  range = fused::scaled(range, grid);
  const double zero = balance ? (grid.low + grid.high) / 2.0 : fused::zero_of(range, grid);
  return {static_cast<float>(range.scale), fused::nudged(zero, grid)};
}

/// Method by which an observer derives parameters from a range.
enum class Scheme { affine, symmetric, float_zero };

/// Attributes of an observer.
struct ObserverGrid {
  int64_t low, high;
  Scheme scheme;
  bool is_unsigned;  ///< codes start at 0, so that a symmetric zero point is the middle
  float eps;

  HS_HOST_DEVICE int64_t middle() const { return !is_unsigned ? 0 : low == 0 && high == 255 ? 128 : (low + high) >> 1; }
};

/// Scale and zero point of an observer. The double also holds integer zero points: they are below 2^24 in magnitude, or
/// an end of the int32 range.
struct ObserverParameters {
  float scale;
  double zero_point;
};

namespace observed {

HS_HOST_DEVICE inline ObserverParameters float_zero(const Extremes& seen, const ObserverGrid& grid) {
  const float steps = (seen.high - seen.low) / static_cast<float>(grid.high - grid.low);
  const float scale = steps > grid.eps ? steps : 1.0F;
  return {scale, -seen.low / scale};
}

/// A NaN scale leads to the lowest code as zero point.
HS_HOST_DEVICE inline ObserverParameters affine(float low, float high, const ObserverGrid& grid) {
  const float scale = higher((high - low) / static_cast<float>(grid.high - grid.low), grid.eps);
  const double zero = static_cast<double>(grid.low) - std::nearbyint(low / scale);
  const auto bottom = static_cast<double>(grid.low);
  const auto top = static_cast<double>(grid.high);
  return {scale, !(zero > bottom) ? bottom : zero < top ? zero : top};
}

HS_HOST_DEVICE inline ObserverParameters symmetric(float low, float high, const ObserverGrid& grid) {
  const auto half = static_cast<float>(static_cast<double>(grid.high - grid.low) / 2);
  return {higher(higher(-low, high) / half, grid.eps), static_cast<double>(grid.middle())};
}

}  // namespace observed

/// The parameters of the observers, all in float32. A range without observed elements has scale 1 and zero point 0.
HS_HOST_DEVICE inline ObserverParameters observer_parameters(const Extremes& seen, const ObserverGrid& grid) {
  if (!seen.seen()) return {1.0F, 0.0};
  if (grid.scheme == Scheme::float_zero) return observed::float_zero(seen, grid);
  const float low = lower(seen.low, 0.0F);
  const float high = higher(seen.high, 0.0F);
  return grid.scheme == Scheme::symmetric ? observed::symmetric(low, high, grid) : observed::affine(low, high, grid);
}

}  // namespace halfstep::kernels::torch

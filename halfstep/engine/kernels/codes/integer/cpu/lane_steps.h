// What makes codes of accumulators whose channels are the lanes of a vector.
#pragma once

#include "halfstep/core/arith/requantizer.h"

namespace halfstep::kernels::integer {

/// Channels that are packed together.
inline constexpr int64_t kLanes = 16;

/// arith::FixedScale that rounds half up, by the upper halves of products: with acc held between ~most and most and
/// moved by `before`, scaled(acc) = ((acc * multiplier >> 32 >> after) + 1) >> 1, or without the 1 where shifts
/// truncate. Both `before` and the bounds matter for factors from 1/4 on alone; what the bounds cut off lies beyond
/// every code. For other roundings `after` is the shift of whole products.
struct LaneFactors {
  int32_t multiplier[kLanes], after[kLanes];
  int32_t before[kLanes], most[kLanes];

  void set(int64_t lane, arith::Multiplier factor, arith::ShiftRounding rounding);
};

/// What scales the accumulators of 16 channels; zeros in lanes without one.
struct alignas(64) LaneSteps {
  int32_t bias[kLanes];  ///< with what the zero point of x adds
  LaneFactors positive, negative;
  /// Of forms that keep scales, as arith::FloatScale has them.
  float scale[kLanes], channel_scale[kLanes], real_bias[kLanes], factor[kLanes];
  bool zero_inside;
  bool is_general;  ///< a factor is too large for upper halves, or another one for sums below zero

  void set(int64_t lane, int32_t with_bias, const arith::Requantizer& requantizer);
};

/// What all channels of a layer share.
struct CodeRange {
  int32_t zero_point = 0;
  arith::Clamp clamp;
  int32_t middle = 0;  ///< of signed codes half of all: so much further up they are unsigned, but for the highest bit
  int32_t half = 1;    ///< what is added before the last bit is dropped: 0 where shifts truncate
};

}  // namespace halfstep::kernels::integer

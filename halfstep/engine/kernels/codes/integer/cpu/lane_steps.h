// Requantization of accumulators, where the lanes of a vector are channels.
#pragma once

#include "halfstep/core/arith/requantizer.h"

namespace halfstep::kernels::integer {

/// Channels that are packed together.
inline constexpr int64_t kLanes = 16;

/// arith::FixedScale with half-up rounding or truncation, from the upper halves of products. acc is clamped to [~most,
/// most] and shifted left by `before`. Then scaled(acc) = ((acc * multiplier >> 32 >> after) + 1) >> 1, without the 1
/// if shifts truncate. `before` and the bounds matter only for factors from 1/4 on. Sums outside of the bounds have
/// codes outside of the range anyway. For other roundings `after` is the shift of whole products.
struct LaneFactors {
  int32_t multiplier[kLanes], after[kLanes];
  int32_t before[kLanes], most[kLanes];

  void set(int64_t lane, arith::Multiplier factor, arith::ShiftRounding rounding);
};

/// Scales of the accumulators of 16 channels. Lanes without a channel are 0.
struct alignas(64) LaneSteps {
  int32_t bias[kLanes];  ///< includes the contribution of the zero point of x
  LaneFactors positive, negative;
  /// Scales of arith::FloatScale, for forms that keep scales.
  float scale[kLanes], channel_scale[kLanes], real_bias[kLanes], factor[kLanes];
  bool zero_inside;
  bool is_general;  ///< a factor is too large for upper halves, or sums below zero have another factor

  void set(int64_t lane, int32_t with_bias, const arith::Requantizer& requantizer);
};

/// Parameters that all channels of a layer share.
struct CodeRange {
  int32_t zero_point = 0;
  arith::Clamp clamp;
  int32_t middle = 0;  ///< half the number of signed codes. Adding it makes them unsigned, which flips only the highest
                       ///< bit
  int32_t half = 1;    ///< added before the last bit is dropped. 0 if shifts truncate
};

}  // namespace halfstep::kernels::integer

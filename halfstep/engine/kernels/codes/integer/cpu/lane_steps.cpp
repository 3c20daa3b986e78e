#include "halfstep/engine/kernels/codes/integer/cpu/lane_steps.h"

#include <algorithm>

namespace halfstep::kernels::integer {
namespace {

/// Bits that are not part of `after`: those of a product's lower half, and the one that rounds.
constexpr int32_t kUpper = 33;
/// 2^17. It moves any number except 0 out of the range of codes.
constexpr arith::Multiplier kLargest{int32_t{1} << 30, 13};

/// Increases m and 2^shift equally, which does not change floor(acc * m / 2^shift + 1/2).
arith::Multiplier enlarged(arith::Multiplier step) {
  while (step.m < int32_t{1} << 30 && step.shift < arith::kMaxShift) {
    step.m *= 2;
    ++step.shift;
  }
  return step;
}

}  // namespace

void LaneFactors::set(int64_t lane, arith::Multiplier factor, arith::ShiftRounding rounding) {
  if (rounding != arith::ShiftRounding::half_up && rounding != arith::ShiftRounding::truncate) {
    multiplier[lane] = factor.m;
    after[lane] = factor.shift;
    return;
  }
  factor = enlarged(factor);
  if (factor.shift < kLargest.shift) factor = kLargest;
  multiplier[lane] = factor.m;
  before[lane] = std::max(0, kUpper - factor.shift);
  after[lane] = factor.shift - kUpper + before[lane];
  most[lane] = INT32_MAX >> before[lane];
}

void LaneSteps::set(int64_t lane, int32_t with_bias, const arith::Requantizer& requantizer) {
  bias[lane] = with_bias;
  if (const auto* real = std::get_if<arith::FloatScale>(&requantizer)) {
    scale[lane] = real->scale;
    channel_scale[lane] = real->channel_scale;
    real_bias[lane] = real->bias;
    factor[lane] = real->factor;
    zero_inside = real->zero_inside;
    return;
  }
  const auto& [above, below, rounding] = std::get<arith::FixedScale>(requantizer);
  positive.set(lane, above, rounding);
  negative.set(lane, below, rounding);
  is_general = is_general || above != below || positive.before[lane] > 0;
}

}  // namespace halfstep::kernels::integer

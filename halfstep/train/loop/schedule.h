// Learning rates.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace halfstep::train {

/// A linear rise over the first `warmup` steps, then half a cosine from `peak` to 0 over the rest of `steps`
/// (Loshchilov and Hutter, 2017, without restarts).
inline double cosine_rate(double peak, int64_t step, int64_t steps, int64_t warmup) {
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double position = static_cast<double>(step - warmup) / static_cast<double>(steps > warmup ? steps - warmup : 1);
  return peak * 0.5 * (1.0 + std::cos(std::numbers::pi * position));
}

}  // namespace halfstep::train

#include "halfstep/arith/bias.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace halfstep::arith {

int32_t bias_code(float b, float x_scale, float w_scale) {
  const double code =
      std::nearbyint(static_cast<double>(b) / (static_cast<double>(x_scale) * static_cast<double>(w_scale)));
  if (std::isnan(code)) return 0;
  return static_cast<int32_t>(std::clamp<double>(code, -kMaxBiasCode, kMaxBiasCode));
}

float raise_scale(float w_scale, float b, float x_scale, bool power_of_two) {
  const double least = std::fabs(static_cast<double>(b)) / (static_cast<double>(x_scale) * kMaxBiasCode);
  if (!(static_cast<double>(w_scale) < least)) return w_scale;
  auto raised = static_cast<float>(least);
  if (static_cast<double>(raised) < least) raised = std::nextafterf(raised, std::numeric_limits<float>::infinity());
  if (!power_of_two) return raised;
  const auto power = static_cast<float>(std::ldexp(1.0, std::ilogb(raised)));
  return power < raised ? power * 2.0F : power;
}

int64_t accumulator_bound(int64_t weight_sum, int32_t x_min, int32_t x_max, int32_t x_zero_point, int32_t bias) {
  const int64_t farthest = std::max(std::abs(int64_t{x_max} - x_zero_point), std::abs(int64_t{x_min} - x_zero_point));
  return weight_sum * farthest + std::abs(int64_t{bias});
}

}  // namespace halfstep::arith

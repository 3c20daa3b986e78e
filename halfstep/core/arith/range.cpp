#include "halfstep/core/arith/range.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halfstep::arith {
namespace {

double next_power_of_two(double scale) {
  const double power = std::ldexp(1.0, std::ilogb(scale));
  return power < scale ? power * 2.0 : power;
}

constexpr double kLargestPower = 0x1p127;

/// Number of code steps on the shorter side of 0. If all codes have one sign, on the only side.
double symmetric_steps(double code_min, double code_max) {
  return code_min < 0.0 && code_max > 0.0 ? std::min(code_max, -code_min) : std::max(code_max, -code_min);
}

}  // namespace

float stored_scale(double scale, const CodeGrid& grid) {
  if (!(scale >= static_cast<double>(kSmallestScale))) return kSmallestScale;  // also for NaN
  const auto rounded = static_cast<float>(std::min<double>(scale, std::numeric_limits<float>::max()));
  if (!grid.power_of_two) return rounded;
  if (grid.nearest_power) return nearest_power_of_two(rounded);
  return static_cast<float>(std::min(next_power_of_two(static_cast<double>(rounded)), kLargestPower));
}

AffineParameters parameters_of(float low, float high, const CodeGrid& grid) {
  const double lo = std::min(0.0, static_cast<double>(low));  // this order of arguments replaces NaN by 0
  const double hi = std::max(0.0, static_cast<double>(high));
  const double code_min = grid.code_min;
  const double code_max = grid.code_max;
  switch (grid.zero_points) {
    case ZeroPoints::affine: {
      const float scale = stored_scale((hi - lo) / (code_max - code_min), grid);
      const double zero_point = std::nearbyint(code_min - lo / static_cast<double>(scale));
      return {scale, static_cast<int32_t>(std::clamp(zero_point, code_min, code_max))};
    }
    case ZeroPoints::symmetric: return {stored_scale(std::max(-lo, hi) / symmetric_steps(code_min, code_max), grid), 0};
    case ZeroPoints::centered: return {stored_scale(std::max(-lo, hi) / ((code_max - code_min) / 2.0), grid), 0};
    case ZeroPoints::offset: {
      if (lo >= 0.0) return {stored_scale(hi / (code_max - code_min), grid), grid.code_min};
      const int32_t middle = grid.code_min + (grid.code_max - grid.code_min + 1) / 2;
      const double scale = std::max(-lo / (middle - code_min), hi / (code_max - middle));
      return {stored_scale(scale, grid), middle};
    }
  }
  return {};
}

float nearest_power_of_two(float scale) {
  if (!(scale > 0.0F)) return kSmallestScale;
  const double exponent = std::nearbyint(std::log2(static_cast<double>(scale)));
  return static_cast<float>(std::ldexp(1.0, static_cast<int>(std::min(exponent, 127.0))));
}

}  // namespace halfstep::arith

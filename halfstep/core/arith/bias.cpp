#include "halfstep/core/arith/bias.h"

#include <algorithm>
#include <cmath>
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

}  // namespace halfstep::arith

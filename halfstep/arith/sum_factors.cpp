#include "halfstep/arith/sum_factors.h"

#include <cmath>

namespace halfstep::arith {

bool is_power_of_two(double factor) {
  return std::isfinite(factor) && factor > 0.0 && std::ldexp(1.0, std::ilogb(factor)) == factor;
}

std::optional<MultiplierPair> to_sum_factors(double a, double b, Requantization form, int bits) {
  if (form == Requantization::power_of_two && !(is_power_of_two(a) && is_power_of_two(b))) return std::nullopt;
  return to_multiplier_pair(a, b, bits);
}

}  // namespace halfstep::arith

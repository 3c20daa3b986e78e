#include "halfstep/arith/multiplier.h"

#include <algorithm>
#include <cmath>

namespace halfstep::arith {
namespace {

bool positive(double factor) { return std::isfinite(factor) && factor > 0.0; }

bool shift_is_legal(int shift) { return shift >= kMinShift && shift <= kMaxShift; }

}  // namespace

std::optional<Multiplier> to_multiplier(double factor, int bits) {
  if (!positive(factor)) return std::nullopt;
  int shift = bits - 1 - std::ilogb(factor);
  double m = std::nearbyint(std::ldexp(factor, shift));
  if (m == std::ldexp(1.0, bits)) {  // rounded up to the next power of two
    m /= 2;
    --shift;
  }
  if (!shift_is_legal(shift)) return std::nullopt;
  return Multiplier{static_cast<int32_t>(m), shift};
}

std::optional<MultiplierPair> to_multiplier_pair(double a, double b, int bits) {
  if (!positive(a) || !positive(b)) return std::nullopt;
  const auto larger = to_multiplier(std::max(a, b), bits);
  if (!larger) return std::nullopt;
  const auto scaled = [&](double factor) {
    return static_cast<int32_t>(std::nearbyint(std::ldexp(factor, larger->shift)));
  };
  return MultiplierPair{scaled(a), scaled(b), larger->shift};
}

std::optional<int32_t> to_shift(double factor) {
  if (!positive(factor)) return std::nullopt;
  const int exponent = std::ilogb(factor);
  if (std::ldexp(1.0, exponent) != factor || -exponent < kMinPowerShift || -exponent > kMaxPowerShift)
    return std::nullopt;
  return -exponent;
}

}  // namespace halfstep::arith

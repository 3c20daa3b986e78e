#include "halfstep/core/arith/multiplier.h"

#include <algorithm>
#include <bit>
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

bool is_power_of_two(double factor) { return positive(factor) && std::ldexp(1.0, std::ilogb(factor)) == factor; }

Multiplier to_average(int64_t count, int bits) {
  const double factor = 1.0 / static_cast<double>(count);
  const int shift = bits - 1 - std::ilogb(factor);
  const auto m = static_cast<uint32_t>(std::nearbyint(std::ldexp(factor, shift)));
  const int zeros = std::min(std::countr_zero(m), shift);
  return {static_cast<int32_t>(m >> zeros), shift - zeros};
}

std::optional<int32_t> to_shift(double factor) {
  if (!is_power_of_two(factor)) return std::nullopt;
  const int k = -std::ilogb(factor);
  return k >= kMinPowerShift && k <= kMaxPowerShift ? std::optional(k) : std::nullopt;
}

Multiplier to_stored(Requantization form, Multiplier factor) {
  if (!traits(form).powers_of_two) return factor;
  return {0, factor.shift - std::countr_zero(static_cast<uint32_t>(factor.m))};
}

Multiplier from_stored(Requantization form, Multiplier stored) {
  return traits(form).powers_of_two ? shift_as_multiplier(stored.shift) : stored;
}

}  // namespace halfstep::arith

// A requantization factor in integers, and how it is applied. docs/arithmetic.md, section 4.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "halfstep/core/arith/requantization.h"
#include "halfstep/core/arith/rounding.h"

namespace halfstep::arith {

/// A positive factor as m * 2^-shift.
struct Multiplier {
  int32_t m = 0;
  int32_t shift = 0;
  bool operator==(const Multiplier&) const = default;
};

/// Shifts that every form with shifts accepts.
inline constexpr int32_t kMinShift = 1;
inline constexpr int32_t kMaxShift = 62;

/// The Multiplier nearest to `factor` (half to even) with m in [2^(bits-1), 2^bits); nothing where the shift would
/// leave 1..62 or the factor is not positive and finite. bits is 15 to 31.
std::optional<Multiplier> to_multiplier(double factor, int bits);

/// Two factors over one shift, which the larger sets.
struct MultiplierPair {
  int32_t a = 0;
  int32_t b = 0;
  int32_t shift = 0;
};
std::optional<MultiplierPair> to_multiplier_pair(double a, double b, int bits);

/// What, times a multiplier below 2^31, lies inside int64: 2^32 * (2^31 - 1) < 2^63.
inline constexpr int64_t kMostMultiplied = int64_t{1} << 32;
/// The bits of a larger product that are dropped first, and the least shift that is left to round by then.
inline constexpr int32_t kDroppedBits = 16, kLeastRest = 2;

/// acc * m modulo 2^64.
constexpr int64_t wrapped_product(int64_t acc, int32_t m) {
  return static_cast<int64_t>(static_cast<uint64_t>(acc) * static_cast<uint64_t>(int64_t{m}));
}

/// floor(acc * m / 2^16), with a 1 as its last bit where a bit that was dropped is 1. A shift by kLeastRest or more has
/// this bit below the half that it rounds by, so that it rounds as if nothing had been dropped.
constexpr int64_t upper_product(int64_t acc, int32_t m) {
  constexpr int64_t kRest = (int64_t{1} << kDroppedBits) - 1;
  const int64_t low = (acc & kRest) * m;
  const int64_t carry = low >> kDroppedBits, last = (low & kRest) != 0 ? 1 : 0;
  return (wrapped_product(acc >> kDroppedBits, m) + carry) | last;
}

/// acc * factor, rounded. Exact for |acc| <= kMostScaled (accumulator.h), but that a result beyond 2^45 may be any
/// other of its sign beyond 2^45; for other |acc| it may be any number. m is not negative.
constexpr int64_t scale(int64_t acc, Multiplier factor, ShiftRounding rounding = ShiftRounding::half_up) {
  if (acc >= -kMostMultiplied && acc <= kMostMultiplied)
    return shift_right(wrapped_product(acc, factor.m), factor.shift, rounding);
  if (factor.shift >= kDroppedBits + kLeastRest)
    return shift_right(upper_product(acc, factor.m), factor.shift - kDroppedBits, rounding,
                       kDoubledShift - kDroppedBits);
  const int64_t most = std::numeric_limits<int64_t>::max() / std::max(factor.m, 1);
  return shift_right(wrapped_product(std::clamp(acc, -most, most), factor.m), factor.shift, rounding);
}

/// Shifts k of the power_of_two form: factors from 2^29 down to 2^-32.
inline constexpr int32_t kMinPowerShift = -29;
inline constexpr int32_t kMaxPowerShift = 32;

bool is_power_of_two(double factor);

/// k of a factor 2^-k; nothing when it is not a power of two or k lies outside its range.
std::optional<int32_t> to_shift(double factor);

/// The Multiplier that scales by 2^-k.
constexpr Multiplier shift_as_multiplier(int32_t k) {
  return k >= kMinShift ? Multiplier{1, k} : Multiplier{int32_t{1} << (1 - k), 1};
}

/// A layer's factor as a program stores it: in power_of_two k in `shift`, and no multiplier.
Multiplier to_stored(Requantization form, Multiplier factor);
Multiplier from_stored(Requantization form, Multiplier stored);

}  // namespace halfstep::arith

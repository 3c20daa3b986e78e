// A requantization multiplier in integers, and its application. docs/arithmetic.md, section 4.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "halfstep/core/arith/requantization.h"
#include "halfstep/core/arith/rounding.h"

namespace halfstep::arith {

/// A positive factor m * 2^-shift.
struct Multiplier {
  int32_t m = 0;
  int32_t shift = 0;
  bool operator==(const Multiplier&) const = default;
};

/// Range of shifts that every form with shifts accepts.
inline constexpr int32_t kMinShift = 1;
inline constexpr int32_t kMaxShift = 62;

/// Returns the Multiplier nearest to `factor` (half to even) with m in [2^(bits-1), 2^bits). Returns nullopt if the
/// shift would leave 1..62, or if the factor is not positive and finite. `bits` is 15 to 31.
std::optional<Multiplier> to_multiplier(double factor, int bits);

/// Two factors with a common shift, which the larger factor determines.
struct MultiplierPair {
  int32_t a = 0;
  int32_t b = 0;
  int32_t shift = 0;
};
std::optional<MultiplierPair> to_multiplier_pair(double a, double b, int bits);

/// Largest magnitude whose product with a multiplier below 2^31 fits in int64: 2^32 * (2^31 - 1) < 2^63.
inline constexpr int64_t kMostMultiplied = int64_t{1} << 32;
/// Number of low bits dropped from a larger product, and the least shift that must remain for rounding.
inline constexpr int32_t kDroppedBits = 16, kLeastRest = 2;

/// Returns acc * m modulo 2^64.
constexpr int64_t wrapped_product(int64_t acc, int32_t m) {
  return static_cast<int64_t>(static_cast<uint64_t>(acc) * static_cast<uint64_t>(int64_t{m}));
}

/// Returns floor(acc * m / 2^16). Its last bit is set if any dropped bit is 1 (a sticky bit). For a remaining shift of
/// kLeastRest or more, this bit is below the rounding bit. The rounding is then the same as without dropping.
constexpr int64_t upper_product(int64_t acc, int32_t m) {
  constexpr int64_t kRest = (int64_t{1} << kDroppedBits) - 1;
  const int64_t low = (acc & kRest) * m;
  const int64_t carry = low >> kDroppedBits, last = (low & kRest) != 0 ? 1 : 0;
  return (wrapped_product(acc >> kDroppedBits, m) + carry) | last;
}

/// Returns acc * factor, rounded. Exact for |acc| <= kMostScaled (accumulator.h), with one exception: a result beyond
/// 2^45 may be any other number beyond 2^45 of the same sign. For larger |acc| the result is arbitrary. m must not be
/// negative.
constexpr int64_t scale(int64_t acc, Multiplier factor, ShiftRounding rounding = ShiftRounding::half_up) {
  if (acc >= -kMostMultiplied && acc <= kMostMultiplied)
    return shift_right(wrapped_product(acc, factor.m), factor.shift, rounding);
  if (factor.shift >= kDroppedBits + kLeastRest)
    return shift_right(upper_product(acc, factor.m), factor.shift - kDroppedBits, rounding,
                       kDoubledShift - kDroppedBits);
  const int64_t most = std::numeric_limits<int64_t>::max() / std::max(factor.m, 1);
  return shift_right(wrapped_product(std::clamp(acc, -most, most), factor.m), factor.shift, rounding);
}

/// Range of shifts k of the power_of_two form: factors from 2^29 down to 2^-32.
inline constexpr int32_t kMinPowerShift = -29;
inline constexpr int32_t kMaxPowerShift = 32;

bool is_power_of_two(double factor);

/// Returns the factor m * 2^-shift nearest to 1 / count (half to even) with m below 2^bits, for chips that only shift.
/// Exact for powers of two. `bits` is 1 to 15.
Multiplier to_average(int64_t count, int bits);

/// Returns k of a factor 2^-k. Returns nullopt if it is not a power of two or k is out of range.
std::optional<int32_t> to_shift(double factor);

/// Returns the Multiplier of the factor 2^-k.
constexpr Multiplier shift_as_multiplier(int32_t k) {
  return k >= kMinShift ? Multiplier{1, k} : Multiplier{int32_t{1} << (1 - k), 1};
}

/// Converts a layer's factor to its stored form. For power_of_two this is k in `shift`, without a multiplier.
Multiplier to_stored(Requantization form, Multiplier factor);
Multiplier from_stored(Requantization form, Multiplier stored);

}  // namespace halfstep::arith

// A requantization factor in integers, and how it is applied. docs/arithmetic.md, section 4.
#pragma once

#include <cstdint>
#include <optional>

#include "halfstep/arith/requantization.h"
#include "halfstep/arith/rounding.h"

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

/// acc * factor, rounded. Exact for |acc| <= kMostScaled (accumulator.h): the product then lies inside int64. Further
/// out it wraps around.
constexpr int64_t scale(int64_t acc, Multiplier factor, ShiftRounding rounding = ShiftRounding::half_up) {
  const auto product = static_cast<int64_t>(static_cast<uint64_t>(acc) * static_cast<uint64_t>(int64_t{factor.m}));
  return shift_right(product, factor.shift, rounding);
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

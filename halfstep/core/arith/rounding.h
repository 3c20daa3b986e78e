// Rounding modes of quantizers. docs/arithmetic.md, section 1.
#pragma once

#include <cmath>
#include <optional>
#include <string_view>

#include "halfstep/core/base/host_device.h"

namespace halfstep::arith {

/// Rounding of a real value to an integer. The modes differ only at half steps.
enum class Rounding {
  half_even,  ///< IEEE 754 roundTiesToEven
  half_away,  ///< half a step rounds away from zero
  half_up     ///< half a step rounds towards plus infinity
};

constexpr std::optional<Rounding> parse_rounding(std::string_view text) {
  if (text == "half_even") return Rounding::half_even;
  if (text == "half_away") return Rounding::half_away;
  if (text == "half_up") return Rounding::half_up;
  return std::nullopt;
}

/// Rounding of a right shift.
enum class ShiftRounding {
  half_up,
  half_even,
  half_away,
  truncate,  ///< towards minus infinity
  doubled    ///< two shifts: by 31 bits half up, as the upper half of a doubled product, then by the rest half away
};

constexpr std::string_view kShiftRoundings[] = {"half_up", "half_even", "half_away", "truncate", "doubled"};

constexpr std::optional<ShiftRounding> parse_shift_rounding(std::string_view text) {
  for (const auto& name : kShiftRoundings) {
    if (name == text) return static_cast<ShiftRounding>(&name - kShiftRoundings);
  }
  return std::nullopt;
}

/// Bits of the first shift of `doubled`.
inline constexpr int32_t kDoubledShift = 31;

/// Returns v / 2^shift, rounded to an integer, for any v. shift is 1 to 62. `first` is the first shift of `doubled`.
constexpr int64_t shift_right(int64_t v, int32_t shift, ShiftRounding rounding, int32_t first = kDoubledShift) {
  const int64_t floor = v >> shift, half = (v >> (shift - 1)) & 1;
  const bool beyond = (v & ((int64_t{1} << (shift - 1)) - 1)) != 0;  // more than a half, if the half bit is set
  switch (rounding) {
    case ShiftRounding::half_up: return floor + half;
    case ShiftRounding::half_even: return floor + (beyond || floor % 2 != 0 ? half : 0);
    case ShiftRounding::half_away: return floor + (beyond || v >= 0 ? half : 0);
    case ShiftRounding::truncate: return floor;
    case ShiftRounding::doubled: break;
  }
  if (shift <= first) return floor + half;
  const int64_t upper = shift_right(v, first, ShiftRounding::half_up);
  return shift_right(upper, shift - first, ShiftRounding::half_away);
}

/// Rounds `v` to the nearest integer. NaN and infinities stay unchanged. The environment must round to nearest.
template <class T>
HS_HOST_DEVICE T round_to(T v, Rounding mode) {
  switch (mode) {
    case Rounding::half_even: return std::nearbyint(v);
    case Rounding::half_away: return std::round(v);
    case Rounding::half_up: {
      const T floor = std::floor(v);  // not floor(v + 0.5): the sum may round up across the tie
      return v - floor >= T(0.5) ? floor + T(1) : floor;
    }
  }
  return v;
}

}  // namespace halfstep::arith

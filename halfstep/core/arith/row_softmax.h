// Softmax of a row of codes in integers. docs/arithmetic.md, section 5.
#pragma once

#include <array>
#include <cstdint>

#include "halfstep/core/arith/requantizer.h"

namespace halfstep::arith {

/// Exponentials are in units of 2^-30.
inline constexpr int kExponentialBits = 30;

/// Returns exp(-(steps & 255) * scale) * exp(-(steps >> 8) * 256 * scale), with one more rounding.
constexpr int64_t exponential(int32_t fine, int32_t coarse) {
  return (int64_t{fine} * coarse + (int64_t{1} << (kExponentialBits - 1))) >> kExponentialBits;
}

/// Tables of exp(-steps * scale) for steps from 0 to 65535.
struct Exponentials {
  explicit Exponentials(float scale);
  std::array<int32_t, 256> fine{};    ///< powers for 0 to 255 steps
  std::array<int32_t, 256> coarse{};  ///< powers for multiples of 256 steps; the first is 1
  int64_t at(int64_t steps) const {
    return exponential(fine[static_cast<size_t>(steps & 255)], coarse[static_cast<size_t>(steps >> 8)]);
  }
};

/// Converts one exponential and the sum of its row to a code before the clamp. `factor` is 1 / scale of the codes.
constexpr int64_t softmax_code(int64_t exponential, int64_t sum, Multiplier factor, ShiftRounding rounding,
                               int32_t zero_point) {
  const int64_t quotient = exponential * factor.m / sum;
  return shift_right(quotient, factor.shift, rounding) + zero_point;
}

}  // namespace halfstep::arith

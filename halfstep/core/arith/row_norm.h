// Normalization of a row of codes in integers. docs/arithmetic.md, section 5.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halfstep/core/arith/rounding.h"
#include "halfstep/core/base/status.h"

namespace halfstep::arith {

/// Normalized elements are in units of 2^-20.
inline constexpr int kNormalizedBits = 20;
/// Most elements of a row, so that sums of squares of 16-bit codes fit in 64 bits.
inline constexpr int64_t kMostInRow = int64_t{1} << 20;

/// Integer parameters of a layer that normalizes rows.
struct RowNorm {
  int64_t epsilon = 0;  ///< added to n^2 * variance of the codes, in units of 2^-guard
  int32_t guard = 0;    ///< even, 0..16
  int32_t shift = 1;
  std::vector<int32_t> factor;  ///< one per element
  std::vector<int64_t> bias;    ///< one per element
};

/// Float parameters of a normalization.
struct NormNumbers {
  std::span<const float> scale;
  std::span<const float> bias;  ///< empty if absent
  double epsilon = 0;
  float x_scale = 1.0F, y_scale = 1.0F;
  int code_bits = 8;  ///< 8 or 16, bits of the codes of x
};

/// Derives the integer parameters. Returns an error if they do not fit for rows of this length.
Status derive(const NormNumbers& numbers, RowNorm& result);

/// The epsilon of a row in squared steps of codes.
double squared_steps(double epsilon, float x_scale);
/// Derives the parameters that depend on the number of elements in a row: guard and epsilon. `epsilon` is in squared
/// steps.
Status derive_epsilon(double epsilon, int64_t elements, int code_bits, RowNorm& result);

/// The sums of a row, and the root that divides its elements.
struct RowRoot {
  int64_t count = 1, sum = 0;
  uint64_t root = 0;  ///< 0: all elements are equal and epsilon is 0
  int32_t shift = 0;  ///< shift of an element before the division

  /// Returns the radicand before normalization of its bits: n^2 times the variance of the codes in units of 2^-guard,
  /// plus epsilon.
  static constexpr uint64_t square(int64_t count, int64_t sum, int64_t squares, bool centered, int64_t epsilon,
                                   int32_t guard) {
    const auto wide = [](int64_t number) { return static_cast<uint64_t>(number); };
    const uint64_t spread = wide(count) * wide(squares) - (centered ? wide(sum) * wide(sum) : 0);
    return (spread << guard) + wide(epsilon);
  }
  /// `sum` and `squares` are sums of code - zero point over `count` elements. Without `centered` the mean counts as 0.
  static RowRoot of(int64_t count, int64_t sum, int64_t squares, bool centered, int64_t epsilon, int32_t guard);

  /// Returns the normalized element of `steps` = code - zero point, rounded half up.
  int64_t normalized(int64_t steps) const;
};

/// Converts a normalized element to a code before the clamp.
constexpr int64_t norm_code(int64_t normalized, int32_t factor, int64_t bias, int32_t shift, ShiftRounding rounding,
                            int32_t zero_point) {
  const uint64_t product = static_cast<uint64_t>(normalized) * static_cast<uint64_t>(int64_t{factor});
  return shift_right(static_cast<int64_t>(product + static_cast<uint64_t>(bias)), shift, rounding) + zero_point;
}

}  // namespace halfstep::arith

// Scale and zero point of an observed range. docs/arithmetic.md, section 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace halfstep::arith {

enum class ZeroPoints {
  affine,     ///< any code of the range
  symmetric,  ///< 0
  centered,   ///< 0, with half of the codes on either side; the largest value lies between two codes
  offset      ///< code_min for a range without negative values, else the middle code
};

constexpr std::optional<ZeroPoints> parse_zero_points(std::string_view text) {
  if (text == "affine") return ZeroPoints::affine;
  if (text == "symmetric") return ZeroPoints::symmetric;
  if (text == "centered") return ZeroPoints::centered;
  if (text == "offset") return ZeroPoints::offset;
  return std::nullopt;
}

/// Codes that represent a range.
struct CodeGrid {
  int32_t code_min = 0;
  int32_t code_max = 255;
  ZeroPoints zero_points = ZeroPoints::affine;
  bool power_of_two = false;
  bool nearest_power = false;  ///< rounds to the nearest power of two in the logarithm, instead of up
};

struct AffineParameters {
  float scale = 1.0F;
  int32_t zero_point = 0;
};

/// Smallest scale. An empty or constant-zero range has this scale.
inline constexpr float kSmallestScale = 0x1p-23F;

/// Returns the scale as stored: finite, at least kSmallestScale, and a power of two if the grid requires one.
float stored_scale(double scale, const CodeGrid& grid);

/// Returns the finest parameters whose codes cover [low, high] and 0, up to half a step if the zero point is rounded.
/// Computed in double and rounded to float32. power_of_two rounds the scale up, or to the nearest power if
/// nearest_power is set. The scale is finite and at least kSmallestScale for any range.
AffineParameters parameters_of(float low, float high, const CodeGrid& grid);

/// Returns the power of two nearest to `scale` in the logarithm, half to even, at most 2^127. Returns kSmallestScale if
/// scale is not positive.
float nearest_power_of_two(float scale);

}  // namespace halfstep::arith

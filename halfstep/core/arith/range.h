// Scale and zero point of an observed range. docs/arithmetic.md, section 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace halfstep::arith {

enum class ZeroPoints {
  affine,     ///< anything in the code range
  symmetric,  ///< 0
  centered,   ///< 0, with half of the codes on either side: the largest value lies between two codes
  offset      ///< code_min for a range without negative values, else the middle code
};

constexpr std::optional<ZeroPoints> parse_zero_points(std::string_view text) {
  if (text == "affine") return ZeroPoints::affine;
  if (text == "symmetric") return ZeroPoints::symmetric;
  if (text == "centered") return ZeroPoints::centered;
  if (text == "offset") return ZeroPoints::offset;
  return std::nullopt;
}

/// Codes that a range is laid on.
struct CodeGrid {
  int32_t code_min = 0;
  int32_t code_max = 255;
  ZeroPoints zero_points = ZeroPoints::affine;
  bool power_of_two = false;
  bool nearest_power = false;  ///< of powers of two the nearest in the logarithm, not the next one up
};

struct AffineParameters {
  float scale = 1.0F;
  int32_t zero_point = 0;
};

/// Smallest scale that a range gives; an empty or constant-zero range has it.
inline constexpr float kSmallestScale = 0x1p-23F;

/// The scale as it is stored: a power of two where the grid has those, finite, and at least kSmallestScale.
float stored_scale(double scale, const CodeGrid& grid);

/// The finest parameters whose codes cover [low, high] and 0, to half a step where the zero point is rounded. In
/// double, then rounded to float32; power_of_two rounds the scale up, or to the nearest power where the grid says so.
/// The scale is finite and at least kSmallestScale for any range.
AffineParameters parameters_of(float low, float high, const CodeGrid& grid);

/// The power of two nearest to `scale` in the logarithm, half to even; at most 2^127, and kSmallestScale where scale is
/// not positive.
float nearest_power_of_two(float scale);

}  // namespace halfstep::arith

// Biases in codes. docs/arithmetic.md, section 4.
#pragma once

#include <cstdint>

namespace halfstep::arith {

/// Largest magnitude of a bias in codes: half of what an int32 accumulator holds.
inline constexpr int32_t kMaxBiasCode = int32_t{1} << 30;

/// b / (x_scale * w_scale) in double, half to even. The scale must have passed raise_scale for this bias; NaN gives 0.
int32_t bias_code(float b, float x_scale, float w_scale);

/// `w_scale`, or the smallest float32 above it (with power_of_two: the smallest power of two) that keeps |bias_code| <=
/// kMaxBiasCode.
float raise_scale(float w_scale, float b, float x_scale, bool power_of_two);

}  // namespace halfstep::arith

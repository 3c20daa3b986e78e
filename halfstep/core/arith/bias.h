// Biases as codes. docs/arithmetic.md, section 4.
#pragma once

#include <cstdint>

namespace halfstep::arith {

/// Largest magnitude of a bias code: half of the range of an int32 accumulator.
inline constexpr int32_t kMaxBiasCode = int32_t{1} << 30;

/// Returns b / (x_scale * w_scale), computed in double and rounded half to even. Apply raise_scale to w_scale first,
/// for this bias. NaN becomes 0.
int32_t bias_code(float b, float x_scale, float w_scale);

/// Returns `w_scale`, or the smallest larger float32 that keeps |bias_code| <= kMaxBiasCode. With power_of_two it is
/// the smallest such power of two.
float raise_scale(float w_scale, float b, float x_scale, bool power_of_two);

}  // namespace halfstep::arith

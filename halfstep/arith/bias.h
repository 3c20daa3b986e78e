// Biases in codes, and the bound that keeps accumulators inside int32. docs/arithmetic.md, sections 4 and 6.
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

/// Largest magnitude that an accumulator can reach: weight_sum = sum |w| of the channel (codes), x codes in [x_min,
/// x_max].
int64_t accumulator_bound(int64_t weight_sum, int32_t x_min, int32_t x_max, int32_t x_zero_point, int32_t bias);

/// The proof: bound < 2^31.
inline bool accumulator_fits(int64_t bound) { return bound < (int64_t{1} << 31); }

}  // namespace halfstep::arith

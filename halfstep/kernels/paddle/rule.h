// Paddle's fake quantization of one element and its absolute maximum, as its CPU kernels compute them:
// docs/arithmetic.md, section 8.
#pragma once

#include <cmath>
#include <cstdint>

#include "halfstep/arith/rounding.h"

namespace halfstep::kernels::paddle {

/// Codes and rounding of a quantizer.
struct Rule {
  float q = 127.0F;  ///< 2^(bit_length - 1) - 1
  bool half_even =
      false;  ///< round_type 0: half to even, then the clamp; any other: the clamp, then half away from zero

  static Rule of(int64_t bit_length, int64_t round_type) {
    return {static_cast<float>((int64_t{1} << (bit_length - 1)) - 1), round_type == 0};
  }
};

/// Not the plain reciprocal below 1e-30, negative numbers included.
inline float inverse_of(float scale) { return scale <= 1e-30F ? 1.0F / (scale + 1e-6F) : 1.0F / scale; }

/// NaN stays.
inline float clip(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

inline float code_of(float x, float scale, const Rule& rule) {
  const float multiplier = rule.q * inverse_of(scale);
  if (rule.half_even) return clip(arith::round_to(multiplier * x, arith::Rounding::half_even), -rule.q - 1.0F, rule.q);
  return arith::round_to(multiplier * clip(x, -scale, scale), arith::Rounding::half_away);
}

inline float quantize_dequantize(float x, float scale, const Rule& rule) {
  return code_of(x, scale, rule) * scale / rule.q;
}

/// A NaN counts in the first place only; 0 for no elements.
inline float abs_max(const float* src, int64_t size) {
  float largest = size > 0 ? std::fabs(src[0]) : 0.0F;
  for (int64_t i = 1; i < size; ++i) {
    if (largest < std::fabs(src[i])) largest = std::fabs(src[i]);
  }
  return largest;
}

/// The state after a step in which the largest magnitude was `largest`.
struct MovingAverage {
  float scale, accum, state;

  static MovingAverage of(float in_accum, float in_state, float largest, float rate) {
    const float state = rate * in_state + 1.0F;
    const float accum = rate * in_accum + largest;
    return {accum / state, accum, state};
  }
};

}  // namespace halfstep::kernels::paddle

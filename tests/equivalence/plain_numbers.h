// Numbers of the plain evaluator: values between operations, and an independent implementation of docs/arithmetic.md.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "halfstep/core/base/shape.h"

namespace halfstep::test {

/// A value between operations: float values, codes, or sums with a unit.
struct Plain {
  enum class Kind { real, codes, sum } kind = Kind::real;
  Dims dims;
  std::vector<double> floats;    ///< used for kind real
  std::vector<int64_t> numbers;  ///< codes, or exact accumulators
  double scale = 1, zero = 0;    ///< used for kind codes
  std::vector<double> unit;      ///< kind sum: real value of one accumulator step, per channel, or one for all
  std::vector<int64_t> other;    ///< kind sum of an add: the numbers of the second term
  double other_unit = 0;         ///< real value of one step of `other`
  int64_t zero_a = 0, zero_b = 0;
  std::vector<float> x_scale, w_scale, bias;  ///< kind sum of an engine's layer, per channel
  int64_t groups = 0;                         ///< 0: a matrix product
  bool depthwise = false;
  bool relu = false, relu6 = false;
  double alpha = 1;  ///< slope for negative values
};

inline int64_t size_of_dims(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

inline double half_even(double v) {
  const double f = std::floor(v);
  const double r = v - f;
  if (r < 0.5) return f;
  if (r > 0.5) return f + 1;
  return std::fmod(f, 2.0) == 0.0 ? f : f + 1;
}

inline double round_as(float v, const std::string& mode) {
  const double f = std::floor(static_cast<double>(v));
  const double r = static_cast<double>(v) - f;
  if (mode == "half_even") return half_even(v);
  if (r != 0.5) return r < 0.5 ? f : f + 1;
  if (mode == "half_up") return f + 1;
  return v < 0 ? f : f + 1;
}

struct Factor {
  int64_t m = 0;
  int shift = 0;
};

/// docs/arithmetic.md, section 4, with the exponent found by search.
inline Factor factor_of(double value, int bits) {
  int shift = -1200;
  while (value * std::ldexp(1.0, shift + 1) < std::ldexp(1.0, bits))
    ++shift;  // the last shift whose product stays below 2^bits
  double m = half_even(value * std::ldexp(1.0, shift));
  if (m == std::ldexp(1.0, bits)) {
    m /= 2;
    --shift;
  }
  return {static_cast<int64_t>(m), shift};
}

/// v / 2^shift as an integer. The remainder decides the rounding.
inline int64_t without_bits(__int128 v, int shift, const std::string& mode) {
  if (mode == "doubled" && shift > 31) return without_bits(without_bits(v, 31, "half_up"), shift - 31, "half_away");
  const __int128 step = static_cast<__int128>(1) << shift, floor = v >> shift, twice = 2 * (v - floor * step);
  bool up = twice > step;
  if (twice == step) up = mode == "half_even" ? floor % 2 != 0 : mode == "half_away" ? v > 0 : true;
  return static_cast<int64_t>(floor) + (up && mode != "truncate" ? 1 : 0);
}

/// number * m / 2^shift without a 64-bit product.
inline int64_t scaled(int64_t number, Factor factor, const std::string& mode) {
  return without_bits(static_cast<__int128>(number) * factor.m, factor.shift, mode);
}

/// The single rounding of a float32 operation, after an exact sum or product.
inline float once(__float128 exact) { return static_cast<float>(exact); }

/// docs/arithmetic.md, section 4, `float32`. Every operation rounds separately.
inline int64_t scaled_in_float(int64_t number, float factor) {
  const float acc = once(number);
  return static_cast<int64_t>(half_even(once(static_cast<__float128>(acc) * factor)));
}

inline bool is_engine(const std::string& form) { return form == "fbgemm" || form == "x86"; }

/// float32 operations. Each one rounds separately.
inline float product(float a, float b) { return once(static_cast<__float128>(a) * b); }
inline float quotient(float a, float b) { return once(static_cast<__float128>(a) / b); }
inline float total(float a, float b) { return once(static_cast<__float128>(a) + b); }

/// docs/arithmetic.md, section 10, integer layers. The code before the clamp.
inline int64_t engine_code(const Plain& y, const std::string& form, size_t channel, int64_t number, float y_scale,
                           int64_t zero) {
  const float x = y.x_scale[channel], w = y.w_scale[channel], b = y.bias[channel], acc = once(number);
  if (form == "fbgemm" || y.groups == 0 || y.groups > 100) {
    const float s = product(x, w);
    return static_cast<int64_t>(half_even(product(total(acc, quotient(b, s)), quotient(s, y_scale)))) + zero;
  }
  const float twice = quotient(1.0F, quotient(1.0F, x));
  const float real = y.depthwise ? product(product(acc, twice), w) : product(acc, product(twice, w));
  const float steps = product(total(real, b), quotient(1.0F, y_scale));
  return static_cast<int64_t>(half_even(total(steps, once(zero))));
}

/// The sum of docs/arithmetic.md, section 10.
inline int64_t engine_sum(const Plain& x, size_t i, float y_scale, int64_t zero) {
  const auto real = [](int64_t code, float scale, int64_t zero_point) {
    const __float128 offset = product(scale, once(zero_point));
    return once(static_cast<__float128>(once(code)) * scale - offset);
  };
  const float a = real(x.numbers[i] + x.zero_a, static_cast<float>(x.unit[0]), x.zero_a);
  const float b = real(x.other[i] + x.zero_b, static_cast<float>(x.other_unit), x.zero_b);
  return static_cast<int64_t>(half_even(product(total(a, b), quotient(1.0F, y_scale)))) + zero;
}

}  // namespace halfstep::test

// Paddle's fake-quantize arithmetic, equal to that of its CPU kernels (docs/arithmetic.md, section 8). C is the type of
// computation, float or double. T is the type of a tensor's elements.
#pragma once

#include <cmath>
#include <cstdint>

#include "halfstep/core/base/host_device.h"

namespace halfstep::kernels::paddle {

enum class Rounding {
  half_even,  ///< round_type 0
  half_away,  ///< round_type 1
  e5m2,       ///< round_type 0 and qmax 57344: rounds to the values of an 8-bit float
  e4m3        ///< round_type 0 and qmax 448
};

/// Largest code and rounding of a quantizer.
struct Rule {
  double q = 127.0;
  Rounding rounding = Rounding::half_away;

  static Rule of_bits(int64_t bit_length, int64_t round_type) {
    return {static_cast<double>((int64_t{1} << (bit_length - 1)) - 1),
            round_type == 0 ? Rounding::half_even : Rounding::half_away};
  }
  static Rule of_qmax(int64_t qmax, int64_t round_type) {
    if (round_type != 0) return {static_cast<double>(qmax), Rounding::half_away};
    return {static_cast<double>(qmax), qmax == 57344 ? Rounding::e5m2
                                       : qmax == 448 ? Rounding::e4m3
                                                     : Rounding::half_even};
  }
};

/// Reciprocal of the scale. Up to 1e-30, negative scales included, it is 1 / (scale + 1e-6) instead.
template <class C>
HS_HOST_DEVICE inline C inverse_of(C scale) {
  return scale <= C(1e-30) ? C(1) / (scale + C(1e-6)) : C(1) / scale;
}

/// Factor that turns an element of a channel with this scale into steps.
template <class C>
HS_HOST_DEVICE inline C multiplier_of(C scale, C q) {
  return q * inverse_of(scale);
}

/// Clamps x to [low, high]. NaN stays NaN.
template <class C>
HS_HOST_DEVICE inline C clip(C x, C low, C high) {
  return x < low ? low : x > high ? high : x;
}

/// The nearest number with `mantissa` bits after its leading bit, half to even. Below 2^lowest the step is constant. v
/// is finite or NaN.
template <class C>
HS_HOST_DEVICE inline C round_mantissa(C v, int mantissa, int lowest) {
  const C magnitude = std::fabs(v);
  const int exponent = magnitude >= std::ldexp(C(1), lowest) ? std::ilogb(magnitude) : lowest;
  const C step = std::ldexp(C(1), exponent - mantissa);
  return std::nearbyint(v / step) * step;
}

/// Rounds v to e4m3. Magnitudes above 464 and below 480 become NaN, because they round to 480, which is the code of
/// NaN. From 480 on, and for NaN, the result is 448. A NaN takes the sign of x.
template <class C>
HS_HOST_DEVICE inline C to_e4m3(C v, C x) {
  const C magnitude = std::fabs(v);
  if (magnitude <= C(464)) return round_mantissa(v, 3, -6);
  if (magnitude < C(480)) return C(NAN);
  return std::copysign(C(448), v != v ? x : v);
}

/// The code of x: an integer, or a value of an 8-bit float.
template <class C>
HS_HOST_DEVICE inline C code_of(C x, C multiplier, C scale, C q, Rounding rounding) {
  switch (rounding) {
    case Rounding::half_even: return clip(std::nearbyint(multiplier * x), -q - C(1), q);
    case Rounding::half_away: return std::round(multiplier * clip(x, -scale, scale));
    case Rounding::e5m2: return round_mantissa(clip(multiplier * x, -q, q), 2, -14);
    case Rounding::e4m3: return to_e4m3(multiplier * x, x);
  }
  return x;
}

template <class C>
HS_HOST_DEVICE inline C value_of(C code, C scale, C q) {
  return code * scale / q;
}

/// Largest magnitude of the elements, 0 without elements. A NaN counts only as the first element.
template <class C, class T>
HS_HOST_DEVICE inline C abs_max(const T* src, int64_t size) {
  C largest = size > 0 ? std::fabs(static_cast<C>(src[0])) : C(0);
  for (int64_t i = 1; i < size; ++i) {
    const C magnitude = std::fabs(static_cast<C>(src[i]));
    if (largest < magnitude) largest = magnitude;
  }
  return largest;
}

/// State of the moving average after a step with the largest magnitude `largest`. Each number is rounded to T, as it is
/// stored.
template <class T, class C>
struct Average {
  T scale, accum, state;

  HS_HOST_DEVICE static Average of(T in_accum, T in_state, C largest, C rate) {
    const T state(rate * static_cast<C>(in_state) + C(1));
    const T accum(rate * static_cast<C>(in_accum) + largest);
    return {T(static_cast<C>(accum) / static_cast<C>(state)), accum, state};
  }
};

/// Scale of step `step` >= 0. The window already holds this step's largest magnitude. `last` is the previous scale,
/// `removed` the magnitude that this step replaced. While the window is not full, only its first `step` entries count,
/// so the newest entry is missed. At step 0 one entry counts. Both are as in Paddle.
template <class C, class T>
HS_HOST_DEVICE inline C scale_of_window(const T* window, int64_t size, int64_t step, C last, C removed, C largest) {
  if (last < largest) return largest;
  if (!(static_cast<double>(std::fabs(removed - last)) < 1e-6)) return last;
  const int64_t seen = step > size ? size : step > 1 ? step : 1;
  return abs_max<C>(window, seen);
}

/// x * scale / q, where each operation is rounded to T. q is the largest code.
template <class T, class C>
HS_HOST_DEVICE inline T times_over(T x, T scale, T q) {
  const T product(static_cast<C>(x) * static_cast<C>(scale));
  return T(static_cast<C>(product) / static_cast<C>(q));
}

}  // namespace halfstep::kernels::paddle

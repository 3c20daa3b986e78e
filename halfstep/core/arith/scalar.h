// Functions of the records' scalar language, on plain numbers. engine/kernels/elementwise/simd-inl.h has the vector
// versions.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

namespace halfstep::arith {

template <class T>
T exp_of(T x) {
  return std::exp(x);
}
template <class T>
T sigmoid_of(T x) {
  return T(1) / (T(1) + std::exp(-x));
}
/// Absolute value. The minimum integer has none in its type and is returned unchanged.
template <class T>
T abs_of(T x) {
  if constexpr (std::is_unsigned_v<T>) {
    return x;
  } else if constexpr (std::is_integral_v<T>) {
    return x < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)) : x;
  } else {
    return std::abs(x);
  }
}
/// Returns a / b. Integer division truncates towards zero, and division by 0 returns 0.
template <class T>
T quotient_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    }
  }
  return a / b;
}
template <std::floating_point T>
T expm1_of(T x) {
  return std::expm1(x);
}
template <std::floating_point T>
T log_of(T x) {
  return std::log(x);
}
template <std::floating_point T>
T log1p_of(T x) {
  return std::log1p(x);
}
template <std::floating_point T>
T pow_of(T x, T exponent) {
  return std::pow(x, exponent);
}
template <std::floating_point T>
T erf_of(T x) {
  return std::erf(x);
}
template <std::floating_point T>
T floor_of(T x) {
  return std::floor(x);
}
template <std::floating_point T>
T ceil_of(T x) {
  return std::ceil(x);
}
template <std::floating_point T>
T sin_of(T x) {
  return std::sin(x);
}
template <std::floating_point T>
T cos_of(T x) {
  return std::cos(x);
}
template <std::floating_point T>
T tan_of(T x) {
  return std::tan(x);
}
template <std::floating_point T>
T asin_of(T x) {
  return std::asin(x);
}
template <std::floating_point T>
T acos_of(T x) {
  return std::acos(x);
}
template <std::floating_point T>
T atan_of(T x) {
  return std::atan(x);
}
template <std::floating_point T>
T sinh_of(T x) {
  return std::sinh(x);
}
template <std::floating_point T>
T cosh_of(T x) {
  return std::cosh(x);
}
template <std::floating_point T>
T tanh_of(T x) {
  return std::tanh(x);
}
template <std::floating_point T>
T asinh_of(T x) {
  return std::asinh(x);
}
template <std::floating_point T>
T acosh_of(T x) {
  return std::acosh(x);
}
template <std::floating_point T>
T atanh_of(T x) {
  return std::atanh(x);
}
template <class T>
T sqrt_of(T x) {
  return std::sqrt(x);
}
/// Rounds to the nearest integer, half to even.
template <class T>
T rint_of(T x) {
  return std::rint(x);
}
/// Returns b if b < a, else a. A NaN in a is returned.
template <class T>
T min_of(T a, T b) {
  return b < a ? b : a;
}
/// Returns b if b > a, else a. A NaN in a is returned.
template <class T>
T max_of(T a, T b) {
  return b > a ? b : a;
}

}  // namespace halfstep::arith

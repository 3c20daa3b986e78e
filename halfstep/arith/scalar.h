// Functions of the records' scalar language on plain numbers; kernels/pointwise/simd-inl.h has them on vectors.
#pragma once

#include <cmath>

namespace halfstep::arith {

template <class T>
T exp_of(T x) {
  return std::exp(x);
}
template <class T>
T sigmoid_of(T x) {
  return T(1) / (T(1) + std::exp(-x));
}
template <class T>
T abs_of(T x) {
  return std::abs(x);
}
template <class T>
T sqrt_of(T x) {
  return std::sqrt(x);
}
/// Nearest whole number, half to even.
template <class T>
T rint_of(T x) {
  return std::rint(x);
}
/// b where it is smaller, else a: a NaN in a stays.
template <class T>
T min_of(T a, T b) {
  return b < a ? b : a;
}
/// b where it is larger, else a: a NaN in a stays.
template <class T>
T max_of(T a, T b) {
  return b > a ? b : a;
}

}  // namespace halfstep::arith

// Types for kernels that are written once for floats of any size and for integers.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "halfstep/engine/kernels/common/float_types.h"

namespace halfstep::kernels {

/// Type in which an element is computed: Compute for floats, the element's own type otherwise.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, T, Compute<T>>;

/// Converts an element to its type of computation, and back. Half precision is rounded once.
template <class T>
Wide<T> widen(T value) {
  return static_cast<Wide<T>>(value);
}
template <class T>
T narrow(Wide<T> value) {
  return static_cast<T>(value);
}

template <class T>
inline constexpr bool kIsFloat = !std::is_integral_v<T>;

/// Any element as a double.
template <class T>
double to_double(T value) {
  return static_cast<double>(widen(value));
}

/// A double as an element. Floats are rounded once, half precision after conversion to float.
template <class T>
T from_double(double value) {
  return static_cast<T>(static_cast<Wide<T>>(value));
}

/// Intermediate result of an operator that ONNX defines as a function of others. Half precision is rounded.
template <class T>
double rounded_if_half(double value) {
  return sizeof(T) == 2 ? to_double(from_double<T>(value)) : value;
}

/// Whether `value` replaces `maximum` in a search for the first largest element. A NaN does. Has no branches, because
/// they would be mispredicted.
template <class T>
bool is_new_maximum(T value, T maximum) {
  if constexpr (std::is_floating_point_v<T>) return (value > maximum) | ((value != value) & (maximum == maximum));
  return value > maximum;
}

/// Sum and product in the type of the operands. Integers are modulo 2^bits.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}
template <class T>
T times(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
}

/// Type for sums and products of many elements: double for floats, uint64_t (modulo 2^64) for integers.
template <class T>
using Total = std::conditional_t<kIsFloat<T>, double, uint64_t>;

template <class T>
Total<T> total_of(T value) {
  if constexpr (kIsFloat<T>) {
    return to_double(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}
/// A total as an element. Floats are rounded once, integers keep their low bits.
template <class T>
T of_total(Total<T> total) {
  if constexpr (kIsFloat<T>) {
    return from_double<T>(total);
  } else {
    return static_cast<T>(total);
  }
}

/// A double as an integer, rounded towards zero and saturated to the range of the type. NaN becomes 0.
template <class T>
T saturated(double value) {
  constexpr T kLowest = std::numeric_limits<T>::lowest(), kHighest = std::numeric_limits<T>::max();
  if (!(value > static_cast<double>(kLowest))) return value == value ? kLowest : T(0);
  // The highest 64-bit numbers round up to a power of two in double, which is out of range.
  return value >= static_cast<double>(kHighest) ? kHighest : static_cast<T>(value);
}

/// Calls body.template operator()<T>() with the C++ type of an integer of 8 to 64 bits.
template <class Body>
decltype(auto) with_whole(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::i8: return body.template operator()<int8_t>();
    case DType::u8: return body.template operator()<uint8_t>();
    case DType::i16: return body.template operator()<int16_t>();
    case DType::u16: return body.template operator()<uint16_t>();
    case DType::i32: return body.template operator()<int32_t>();
    case DType::u32: return body.template operator()<uint32_t>();
    case DType::u64: return body.template operator()<uint64_t>();
    default: break;
  }
  HS_CHECK(dtype == DType::i64);
  return body.template operator()<int64_t>();
}

/// Like with_whole, and floats: all types of the class `number`.
template <class Body>
decltype(auto) with_number(DType dtype, Body&& body) {
  return is_float(dtype) ? with_any_float(dtype, body) : with_whole(dtype, body);
}

/// Like with_number, and bool: all types of the class `plain`.
template <class Body>
decltype(auto) with_plain(DType dtype, Body&& body) {
  return dtype == DType::boolean ? body.template operator()<bool>() : with_number(dtype, body);
}

/// Types of indices, such as those of gather.
template <class Body>
decltype(auto) with_index(DType dtype, Body&& body) {
  if (dtype == DType::i32) return body.template operator()<int32_t>();
  HS_CHECK(dtype == DType::i64);
  return body.template operator()<int64_t>();
}

/// Calls body.template operator()<T>() with an unsigned type of the element's size, for kernels that only move
/// elements.
template <class Body>
decltype(auto) with_bits(DType dtype, Body&& body) {
  switch (size_of(dtype)) {
    case 1: return body.template operator()<uint8_t>();
    case 2: return body.template operator()<uint16_t>();
    case 4: return body.template operator()<uint32_t>();
    default: return body.template operator()<uint64_t>();
  }
}

}  // namespace halfstep::kernels

// Kernels that are written once for floats of any width and for whole numbers.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "halfstep/engine/kernels/common/float_types.h"

namespace halfstep::kernels {

/// What an element is computed in: floats as Compute says, everything else in its own type.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, T, Compute<T>>;

/// An element as what it is computed in, and back: half precision is rounded once.
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

/// A double as an element: floats are rounded once, half precision by way of float.
template <class T>
T from_double(double value) {
  return static_cast<T>(static_cast<Wide<T>>(value));
}

/// What stays of a step between, in an operator that ONNX defines as a function of others: half precision is rounded.
template <class T>
double rounded_if_half(double value) {
  return sizeof(T) == 2 ? to_double(from_double<T>(value)) : value;
}

/// Whether `value` takes the place of `maximum` in a search for the first largest: a NaN does. No branches: what wins
/// is anyone's guess.
template <class T>
bool is_new_maximum(T value, T maximum) {
  if constexpr (std::is_floating_point_v<T>) return (value > maximum) | ((value != value) & (maximum == maximum));
  return value > maximum;
}

/// Sum and product in the type of the operands; of whole numbers modulo 2^bits.
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

/// What sums and products of many elements are kept in: floats as doubles, whole numbers modulo 2^64.
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
/// A total as an element: floats are rounded once, whole numbers keep their low bits.
template <class T>
T of_total(Total<T> total) {
  if constexpr (kIsFloat<T>) {
    return from_double<T>(total);
  } else {
    return static_cast<T>(total);
  }
}

/// A double as a whole number: towards zero, saturated to the range of the type; NaN is 0.
template <class T>
T saturated(double value) {
  constexpr T kLowest = std::numeric_limits<T>::lowest(), kHighest = std::numeric_limits<T>::max();
  if (!(value > static_cast<double>(kLowest))) return value == value ? kLowest : T(0);
  // The highest 64-bit numbers round up to a power of two as doubles, which is beyond them.
  return value >= static_cast<double>(kHighest) ? kHighest : static_cast<T>(value);
}

/// Calls body.template operator()<T>() with the element type of a whole number of 8 to 64 bits.
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

/// The same with floats: everything of the class `number`.
template <class Body>
decltype(auto) with_number(DType dtype, Body&& body) {
  return is_float(dtype) ? with_any_float(dtype, body) : with_whole(dtype, body);
}

/// The same with bool: everything of the class `plain`.
template <class Body>
decltype(auto) with_plain(DType dtype, Body&& body) {
  return dtype == DType::boolean ? body.template operator()<bool>() : with_number(dtype, body);
}

/// Indices of gathers and their like.
template <class Body>
decltype(auto) with_index(DType dtype, Body&& body) {
  if (dtype == DType::i32) return body.template operator()<int32_t>();
  HS_CHECK(dtype == DType::i64);
  return body.template operator()<int64_t>();
}

/// Calls body.template operator()<T>() with an unsigned type of the element's size, for what only moves elements.
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

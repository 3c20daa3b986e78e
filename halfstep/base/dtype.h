// Element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace halfstep {

/// i4 holds one code in -8..7 per byte in memory; only files pack two to a byte.
enum class DType : uint8_t { f32, f64, f16, bf16, i4, i8, u8, i16, u16, i32, i64, boolean };

inline constexpr int kDTypeCount = 12;

std::string_view name(DType dtype);
std::optional<DType> parse_dtype(std::string_view text);

/// Bytes of one element in memory.
constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16: return 2;
    case DType::i4:
    case DType::i8:
    case DType::u8:
    case DType::boolean: return 1;
  }
  return 0;
}

constexpr bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

/// Whether elements of `dtype` are stored in memory as `T`.
template <class T>
constexpr bool stored_as(DType dtype);
template <>
constexpr bool stored_as<float>(DType d) {
  return d == DType::f32;
}
template <>
constexpr bool stored_as<double>(DType d) {
  return d == DType::f64;
}
template <>
constexpr bool stored_as<int8_t>(DType d) {
  return d == DType::i8 || d == DType::i4;
}
template <>
constexpr bool stored_as<uint8_t>(DType d) {
  return d == DType::u8;
}
template <>
constexpr bool stored_as<int16_t>(DType d) {
  return d == DType::i16;
}
template <>
constexpr bool stored_as<uint16_t>(DType d) {
  return d == DType::u16 || d == DType::f16 || d == DType::bf16;
}
template <>
constexpr bool stored_as<int32_t>(DType d) {
  return d == DType::i32;
}
template <>
constexpr bool stored_as<int64_t>(DType d) {
  return d == DType::i64;
}
template <>
constexpr bool stored_as<bool>(DType d) {
  return d == DType::boolean;
}

}  // namespace halfstep

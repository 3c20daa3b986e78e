// Element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace halfstep {

/// Types of fewer than 8 bits hold one code per byte in memory, and signed ones are sign-extended. Only files pack
/// them. The f8 and f4 types are those of ONNX (docs/arithmetic.md, section 9), see small_float.h.
enum class DType : uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i4,
  i8,
  u8,
  i16,
  u16,
  i32,
  i64,
  boolean,
  i2,
  u2,
  u4,
  f8_e4m3fn,
  f8_e4m3fnuz,
  f8_e5m2,
  f8_e5m2fnuz,
  f4_e2m1fn,
  u32,
  u64
};

inline constexpr int kDTypeCount = 22;

/// Returns the name of a dtype, such as "f32". parse_dtype is the inverse, and returns nullopt for other text.
std::string_view name(DType dtype);
std::optional<DType> parse_dtype(std::string_view text);

/// Bytes of one element in memory.
constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
    case DType::u64: return 8;
    case DType::f32:
    case DType::i32:
    case DType::u32: return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16: return 2;
    case DType::i4:
    case DType::i8:
    case DType::u8:
    case DType::boolean:
    case DType::i2:
    case DType::u2:
    case DType::u4:
    case DType::f8_e4m3fn:
    case DType::f8_e4m3fnuz:
    case DType::f8_e5m2:
    case DType::f8_e5m2fnuz:
    case DType::f4_e2m1fn: return 1;
  }
  return 0;
}

/// Whether an integer dtype has negative values.
constexpr bool is_signed(DType dtype) {
  switch (dtype) {
    case DType::u2:
    case DType::u4:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64: return false;
    default: return true;
  }
}

/// Bits of one element in a file, where types of fewer than 8 bits are packed.
constexpr int bits_of(DType dtype) {
  switch (dtype) {
    case DType::i2:
    case DType::u2: return 2;
    case DType::i4:
    case DType::u4:
    case DType::f4_e2m1fn: return 4;
    default: return static_cast<int>(size_of(dtype)) * 8;
  }
}

/// Whether elements are codes of an 8-bit or 4-bit float.
constexpr bool is_small_float(DType dtype) { return dtype >= DType::f8_e4m3fn && dtype <= DType::f4_e2m1fn; }

/// Whether networks compute in `dtype`. Codes of small floats do not count.
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
  return d == DType::i8 || d == DType::i4 || d == DType::i2;
}
template <>
constexpr bool stored_as<uint8_t>(DType d) {
  return d == DType::u8 || d == DType::u4 || d == DType::u2 || is_small_float(d);
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
constexpr bool stored_as<uint32_t>(DType d) {
  return d == DType::u32;
}
template <>
constexpr bool stored_as<uint64_t>(DType d) {
  return d == DType::u64;
}
template <>
constexpr bool stored_as<bool>(DType d) {
  return d == DType::boolean;
}

}  // namespace halfstep

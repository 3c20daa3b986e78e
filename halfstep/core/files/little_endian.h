// Little-endian encoding of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace halfstep::io {

/// Reads a T from the first sizeof(T) bytes of `from`, which must have at least this size.
template <class T>
T load_little_endian(std::span<const std::byte> from) {
  static_assert(std::is_unsigned_v<T>);
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | static_cast<T>(from[i]) << (8 * i));
  return value;
}

template <class T>
void append_little_endian(std::vector<std::byte>& to, T value) {
  static_assert(std::is_unsigned_v<T>);
  for (size_t i = 0; i < sizeof(T); ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

}  // namespace halfstep::io

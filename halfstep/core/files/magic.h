// Magic numbers: the first bytes of a file identify its format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace halfstep::io {

inline bool starts_with(std::span<const std::byte> bytes, std::initializer_list<int> magic) {
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(), [](int m, std::byte b) { return std::byte(m) == b; });
}

}  // namespace halfstep::io

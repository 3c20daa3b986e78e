// Values that are joined along an axis.
#pragma once

#include <cstring>
#include <vector>

#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

/// The join as rows of bytes. Each row holds one chunk of every value, in order. A negative axis counts from the end.
struct Join {
  int64_t rows = 1;
  std::vector<int64_t> begins = {0};  ///< begins of the chunks in a row, then the end of the row

  Join() = default;
  Join(std::span<const Type* const> values, int64_t axis) {
    const Dims& first = values[0]->dims;
    if (axis < 0) axis += static_cast<int64_t>(first.size());
    for (int64_t i = 0; i < axis; ++i) rows *= first[i];
    for (const Type* value : values) {
      auto bytes = static_cast<int64_t>(size_of(value->dtype));
      for (size_t i = static_cast<size_t>(axis); i < value->dims.size(); ++i) bytes *= value->dims[i];
      begins.push_back(begins.back() + bytes);
    }
  }

  int64_t row() const { return begins.back(); }
  int64_t chunk(size_t value) const { return begins[value + 1] - begins[value]; }
};

/// memcpy that accepts the null pointers of empty tensors.
inline void copy_bytes(void* dst, const void* src, int64_t bytes) {
  if (bytes > 0) std::memcpy(dst, src, static_cast<size_t>(bytes));
}

}  // namespace halfstep::kernels

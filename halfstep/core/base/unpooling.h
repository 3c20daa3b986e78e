// Positions to which max_unpool writes elements.
#pragma once

#include <span>

#include "halfstep/core/base/shape.h"

namespace halfstep {

/// Indices are flat positions in a value of extents `pooled`, the input of the pool. The result can be larger.
struct Unpooling {
  Dims pooled;
  Dims out;
  int64_t limit = 0;     ///< number of positions that indices can name
  bool is_same = false;  ///< whether indices are positions in the result

  /// An empty stride is 1, and empty padding is 0. `x` are the extents of the elements.
  Unpooling(const Dims& x, std::span<const int64_t> kernel, std::span<const int64_t> stride,
            std::span<const int64_t> pad, Dims result)
      : pooled{x[0], x[1]}, out(std::move(result)) {
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t padding = pad.empty() ? 0 : pad[i] + pad[kernel.size() + i];
      pooled.push_back((x[2 + i] - 1) * (stride.empty() ? 1 : stride[i]) - padding + kernel[i]);
    }
    limit = count_elements(pooled);
    is_same = pooled == out;
  }

  /// The position in the result that an index names, or -1 if it is outside.
  int64_t place(int64_t index) const {
    if (index < 0 || index >= limit) return -1;
    if (is_same) return index;
    int64_t moved = 0, stride = 1;
    for (size_t i = pooled.size(); i-- > 0;) {
      const int64_t at = index % pooled[i];
      if (at >= out[i]) return -1;
      moved += at * stride;
      stride *= out[i];
      index /= pooled[i];
    }
    return moved;
  }
};

}  // namespace halfstep

// One axis of a tensor.
#pragma once

#include <cstdint>

#include "halfstep/core/base/shape.h"

namespace halfstep::kernels {

/// Element (o, a, i) is element (o * extent + a) * inner + i.
struct Axis {
  int64_t outer = 1, extent = 1, inner = 1;

  Axis() = default;
  Axis(int64_t outer_count, int64_t axis_extent, int64_t inner_count)
      : outer(outer_count), extent(axis_extent), inner(inner_count) {}
  /// A negative axis counts from the end.
  Axis(const Dims& x, int64_t axis) {
    const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
    for (size_t i = 0; i < x.size(); ++i) (i < at ? outer : i == at ? extent : inner) *= x[i];
  }
  int64_t lines() const { return outer * inner; }
  /// First element of a line.
  int64_t begin(int64_t line) const { return line / inner * extent * inner + line % inner; }
};

}  // namespace halfstep::kernels

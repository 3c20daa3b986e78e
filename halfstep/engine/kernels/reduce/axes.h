// The axes of a reduction.
#pragma once

#include <algorithm>
#include <vector>

#include "halfstep/core/base/shape.h"

namespace halfstep::kernels {

/// Whether each axis is reduced. An empty `axes` means all, and a negative axis counts from the end.
inline std::vector<bool> reduced_axes(const Dims& x, const std::vector<int64_t>& axes) {
  std::vector<bool> reduced(x.size(), axes.empty());
  for (const int64_t axis : axes) reduced[axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis] = true;
  return reduced;
}

/// The extents of x, with 1 at the reduced axes.
inline Dims keepdims_extents(const Dims& x, const std::vector<int64_t>& axes) {
  const std::vector<bool> reduced = reduced_axes(x, axes);
  Dims dims = x;
  for (size_t i = 0; i < x.size(); ++i) {
    if (reduced[i]) dims[i] = 1;
  }
  return dims;
}

/// keepdims_extents for a reduction's attributes. With noop_with_empty_axes, an empty `axes` means none.
template <class Attributes>
Dims kept_extents(const Dims& x, const Attributes& a) {
  if constexpr (requires { a.noop_with_empty_axes; }) {
    if (a.noop_with_empty_axes && a.axes.empty()) return x;
  }
  return keepdims_extents(x, a.axes);
}

}  // namespace halfstep::kernels

// The axes of a reduction.
#pragma once

#include <algorithm>
#include <vector>

#include "halfstep/core/base/shape.h"

namespace halfstep::kernels {

/// By axis whether it is reduced; none named means all, below zero counts from the end.
inline std::vector<bool> reduced_axes(const Dims& x, const std::vector<int64_t>& axes) {
  std::vector<bool> reduced(x.size(), axes.empty());
  for (const int64_t axis : axes) reduced[axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis] = true;
  return reduced;
}

/// x's extents with 1 at the reduced axes.
inline Dims keepdims_extents(const Dims& x, const std::vector<int64_t>& axes) {
  const std::vector<bool> reduced = reduced_axes(x, axes);
  Dims dims = x;
  for (size_t i = 0; i < x.size(); ++i) {
    if (reduced[i]) dims[i] = 1;
  }
  return dims;
}

/// The same by a reduction's attributes: with noop_with_empty_axes no axis named means none.
template <class Attributes>
Dims kept_extents(const Dims& x, const Attributes& a) {
  if constexpr (requires { a.noop_with_empty_axes; }) {
    if (a.noop_with_empty_axes && a.axes.empty()) return x;
  }
  return keepdims_extents(x, a.axes);
}

}  // namespace halfstep::kernels

// Helpers shared by the shape functions.
#pragma once

#include <span>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/dim.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/shapes/shape_functions.h"

namespace halfstep::shapes {

/// Throws the error of `entry`, whose first values are the place and the operator.
template <class Entry, class... Values>
[[noreturn]] void reject(const OpSite& site, Entry entry, const Values&... values) {
  fail(entry(site.where, site.info.name, values...));
}

inline bool agrees(int64_t a, int64_t b) { return a == b || a == kUnknown || b == kUnknown; }

/// Returns the known one of two agreeing extents, if any.
inline int64_t either(int64_t a, int64_t b) { return a == kUnknown ? b : a; }

/// Returns the axis counted from the start.
inline size_t normal_axis(const OpSite& site, int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) reject(site, errors::axis_missing, axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

/// Returns kUnknown if an extent is unknown or if the product overflows. On overflow the tensor itself is impossible.
inline int64_t product(std::span<const int64_t> dims) {
  Dim count = 1;
  for (const int64_t extent : dims) count = count * Dim(extent);
  return count.value();
}

}  // namespace halfstep::shapes

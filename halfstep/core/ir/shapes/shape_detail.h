// What the sources of the shape functions share.
#pragma once

#include <span>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/dim.h"
#include "halfstep/core/ir/shapes/shape_functions.h"

namespace halfstep::shapes {

template <class... Args>
[[noreturn]] void reject(const OpSite& site, fmt::format_string<Args...> format, Args&&... args) {
  fail("{}: {} dims: {}", site.where, site.info.name, fmt::format(format, std::forward<Args>(args)...));
}

inline bool agrees(int64_t a, int64_t b) { return a == b || a == kUnknown || b == kUnknown; }

/// The one of two agreeing extents that is known, if any.
inline int64_t either(int64_t a, int64_t b) { return a == kUnknown ? b : a; }

/// The axis counted from the start.
inline size_t normal_axis(const OpSite& site, int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) reject(site, "there is no axis {} among {} dims", axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

/// kUnknown where an extent is unknown or the product overflows, which makes the tensor itself impossible.
inline int64_t product(std::span<const int64_t> dims) {
  Dim count = 1;
  for (const int64_t extent : dims) count = count * Dim(extent);
  return count.value();
}

}  // namespace halfstep::shapes

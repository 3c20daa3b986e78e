// Padding derived from the shape of the input (auto_pad).
#pragma once

#include <algorithm>
#include <cstdint>

namespace halfstep {

/// Padding before and after an axis, in elements.
struct AxisPadding {
  int64_t before = 0, after = 0;
};

/// Splits `all` elements of padding between both ends. An odd element goes after the axis with same_upper, else before
/// it.
inline AxisPadding shared_padding(int64_t all, bool same_upper) {
  return same_upper ? AxisPadding{all / 2, all - all / 2} : AxisPadding{all - all / 2, all / 2};
}

/// Padding of auto_pad same_upper or same_lower: `windows` windows of `span` elements, `stride` apart, cover an axis of
/// `extent` elements.
inline AxisPadding same_padding(int64_t extent, int64_t windows, int64_t stride, int64_t span, bool same_upper) {
  return shared_padding(std::max<int64_t>((windows - 1) * stride + span - extent, 0), same_upper);
}

}  // namespace halfstep

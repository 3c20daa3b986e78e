// Padding that a network leaves to its extents.
#pragma once

#include <algorithm>
#include <cstdint>

namespace halfstep {

/// Elements of padding before and after an axis.
struct AxisPadding {
  int64_t before = 0, after = 0;
};

/// `all` elements of padding shared by both ends; the odd one stands after the axis with same_upper, else before it.
inline AxisPadding shared_padding(int64_t all, bool same_upper) {
  return same_upper ? AxisPadding{all / 2, all - all / 2} : AxisPadding{all - all / 2, all / 2};
}

/// What auto_pad same_upper or same_lower stands for: `windows` windows of `span` elements, `stride` apart, over an
/// axis of `extent`.
inline AxisPadding same_padding(int64_t extent, int64_t windows, int64_t stride, int64_t span, bool same_upper) {
  return shared_padding(std::max<int64_t>((windows - 1) * stride + span - extent, 0), same_upper);
}

}  // namespace halfstep

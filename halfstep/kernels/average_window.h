// The window of an average pool on codes. What the two roads share is the place of the window, and the arithmetic of
// the float32 form. docs/arithmetic.md, sections 4 and 5.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>

#include "halfstep/arith/code.h"
#include "halfstep/arith/float_scale.h"

namespace halfstep::kernels {

/// What of a window lies inside the image: rows [top, bottom) and columns [left, right). The padding has none.
struct AverageWindow {
  int64_t top, bottom, left, right;

  /// Window (oy, ox) over an image of those extents; `a` has kernel, stride and pad.
  template <class Typed>
  static AverageWindow of(const Typed& a, int64_t height, int64_t width, int64_t oy, int64_t ox) {
    const int64_t y = oy * a.stride[0] - a.pad[0], x = ox * a.stride[1] - a.pad[1];
    return {std::max<int64_t>(y, 0), std::min(y + a.kernel[0], height), std::max<int64_t>(x, 0),
            std::min(x + a.kernel[1], width)};
  }
  /// visit(y, x), row by row.
  template <class Visit>
  void visit(Visit&& visit) const {
    for (int64_t y = top; y < bottom; ++y) {
      for (int64_t x = left; x < right; ++x) visit(y, x);
    }
  }
  /// What the average divides by.
  template <class Typed>
  int64_t divisor(const Typed& a) const {
    return a.count_include_pad ? a.kernel[0] * a.kernel[1] : (bottom - top) * (right - left);
  }
};

/// The divisors of all windows, oh by ow of them.
template <class Typed>
std::set<int64_t> window_divisors(const Typed& a, int64_t height, int64_t width, int64_t oh, int64_t ow) {
  std::set<int64_t> rows, columns, divisors;
  const auto at = [&](int64_t oy, int64_t ox) { return AverageWindow::of(a, height, width, oy, ox); };
  if (a.count_include_pad || oh == 0 || ow == 0) return {a.kernel[0] * a.kernel[1]};
  for (int64_t oy = 0; oy < oh; ++oy) rows.insert(at(oy, 0).bottom - at(oy, 0).top);
  for (int64_t ox = 0; ox < ow; ++ox) columns.insert(at(0, ox).right - at(0, ox).left);
  for (const int64_t row : rows) {
    for (const int64_t column : columns) divisors.insert(row * column);
  }
  return divisors;
}

/// Calls visit(k) for the elements x[k] under the window of out[i]; both are [n, c, h, w].
template <class Typed, class Visit>
AverageWindow visit_window(const Typed& a, std::span<const int64_t> x, std::span<const int64_t> out, int64_t i,
                           Visit&& visit) {
  const int64_t plane = i / (out[2] * out[3]);
  const auto window = AverageWindow::of(a, x[2], x[3], i / out[3] % out[2], i % out[3]);
  window.visit([&](int64_t iy, int64_t ix) { visit((plane * x[2] + iy) * x[3] + ix); });
  return window;
}

/// Whether there is one window and it is the image. In float32 that is an operator of its own: it adds codes, and every
/// other window adds reals.
template <class Typed>
bool covers_image(const Typed& a, std::span<const int64_t> x) {
  return a.kernel[0] == x[2] && a.kernel[1] == x[3] && *std::max_element(a.pad.begin(), a.pad.end()) == 0;
}

/// The mean of a window of reals, added in the order of visit_window.
struct FloatMean {
  float scale, y_scale;
  int32_t zero_point, y_zero_point;

  template <class Typed, class Code>
  float of(const Typed& a, const Code* codes, std::span<const int64_t> x, std::span<const int64_t> out,
           int64_t i) const {
    float sum = 0;
    const AverageWindow window =
        visit_window(a, x, out, i, [&](int64_t k) { sum += arith::real_of(codes[k], scale, zero_point); });
    return sum / static_cast<float>(window.divisor(a));
  }
  /// The zero point is inside the rounding.
  int32_t code(float mean) const { return arith::whole_steps(mean / y_scale + static_cast<float>(y_zero_point)); }
};

}  // namespace halfstep::kernels

// The window of an average pool on codes. What the two roads share is the place of the window, and the arithmetic of
// the float32 form. docs/arithmetic.md, sections 4 and 5.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "halfstep/arith/code.h"
#include "halfstep/arith/float_requantize.h"

namespace halfstep::kernels {

/// Calls visit(k) for the elements x[k] under the window of out[i], row by row; the padding has none. `a` has kernel,
/// stride and pad.
template <class Typed, class Visit>
void visit_window(const Typed& a, std::span<const int64_t> x, std::span<const int64_t> out, int64_t i, Visit&& visit) {
  const int64_t plane = i / (out[2] * out[3]);
  const int64_t top = i / out[3] % out[2] * a.stride[0] - a.pad[0];
  const int64_t left = i % out[3] * a.stride[1] - a.pad[1];
  for (int64_t iy = std::max<int64_t>(top, 0); iy < std::min(top + a.kernel[0], x[2]); ++iy) {
    for (int64_t ix = std::max<int64_t>(left, 0); ix < std::min(left + a.kernel[1], x[3]); ++ix)
      visit((plane * x[2] + iy) * x[3] + ix);
  }
}

/// Whether there is one window and it is the image. In float32 that is an operator of its own: it adds codes, and every
/// other window adds reals.
template <class Typed>
bool covers_image(const Typed& a, std::span<const int64_t> x) {
  return a.kernel[0] == x[2] && a.kernel[1] == x[3] && *std::max_element(a.pad.begin(), a.pad.end()) == 0;
}

/// Of a window of reals, in the order of visit_window.
struct FloatMean {
  float count, scale, y_scale;
  int32_t zero_point, y_zero_point;

  template <class Typed, class Code>
  float of(const Typed& a, const Code* codes, std::span<const int64_t> x, std::span<const int64_t> out,
           int64_t i) const {
    float sum = 0;
    visit_window(a, x, out, i, [&](int64_t k) { sum += arith::real_of(codes[k], scale, zero_point); });
    return sum / count;
  }
  /// The zero point is inside the rounding.
  int32_t code(float mean) const { return arith::whole_steps(mean / y_scale + static_cast<float>(y_zero_point)); }
};

}  // namespace halfstep::kernels

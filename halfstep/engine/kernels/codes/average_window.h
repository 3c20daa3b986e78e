// The window of an average pool on codes. The training network and the integer program share only the position of the
// window and the arithmetic of the float32 form (docs/arithmetic.md, sections 4 and 5).
#pragma once

#include <set>

#include "halfstep/core/arith/code.h"
#include "halfstep/core/arith/float_scale.h"
#include "halfstep/engine/kernels/common/window.h"

namespace halfstep::kernels {

struct AverageWindow : PoolWindow {
  bool counts_pad;

  template <class Typed>
  static AverageWindow of(const Typed& a, std::span<const int64_t> x, std::span<const int64_t> out) {
    return {PoolWindow::of(a, x, out, has_channels_last(a)), a.count_include_pad};
  }

  /// Divisor of the average of a window.
  int64_t divisor(const Axes& p) const { return count(p, counts_pad); }

  /// The divisors of all windows.
  std::set<int64_t> divisors() const {
    std::set<int64_t> all = {1};
    for (size_t axis = 0; axis < 3; ++axis) {
      std::set<int64_t> counts, products;
      for (int64_t p = 0; p < out[axis]; ++p) counts.insert(axis_count(axis, p, counts_pad));
      for (const int64_t count : counts) {
        for (const int64_t product : all) products.insert(product * count);
      }
      all = std::move(products);
    }
    return all;
  }

  /// Whether the only window is the whole image. In float32 that is a separate operator: it adds codes, while every
  /// other window adds float values.
  bool covers_image() const { return kernel == in && before == Axes{} && after == Axes{}; }

  /// Calls visit(k) for the elements x[k] in the window of element `i` of the result. Returns the position of the
  /// window.
  template <class Visit>
  Axes visit(int64_t i, Visit&& visit) const {
    const int64_t rest = i % out_order.image, channel = rest / out_order.channel % channels;
    const int64_t index = rest / out_order.place % out_plane();
    const Axes p = {index / (out[1] * out[2]), index / out[2] % out[1], index % out[2]};
    const int64_t begin = x_order.at(i / out_order.image, channel);
    for_each_place(p, [&](int64_t place) { visit(begin + place * x_order.place); });
    return p;
  }
};

/// The mean of the float values of a window, added in the order of the window.
struct FloatMean {
  float scale, y_scale;
  int32_t zero_point, y_zero_point;

  /// Mean for element `i` of the result.
  template <class Code>
  float of(const AverageWindow& window, const Code* codes, int64_t i) const {
    float sum = 0;
    const Axes p = window.visit(i, [&](int64_t k) { sum += arith::real_of(codes[k], scale, zero_point); });
    return sum / static_cast<float>(window.divisor(p));
  }
  /// The code of a mean. The zero point is added before rounding.
  int32_t code(float mean) const { return arith::whole_steps(mean / y_scale + static_cast<float>(y_zero_point)); }
};

}  // namespace halfstep::kernels

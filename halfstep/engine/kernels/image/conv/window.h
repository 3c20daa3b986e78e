// Convolutions over one to three axes, channels first or last, and the sums that define them.
#pragma once

#include "halfstep/engine/kernels/common/conv_geometry.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/common/window.h"

namespace halfstep::kernels {

/// x[n, c, ...] or [n, ..., c], weights [o, c / groups, ...]. The result has the layout of x. Outside of x there are
/// zeros.
struct ConvWindow : Window {
  int64_t n, c, o, groups;
  ImageOrder x_order, out_order;

  /// Also reads groups from `a`, and the layout if the operator has that attribute.
  template <class Typed>
  static ConvWindow of(const Typed& a, std::span<const int64_t> x, std::span<const int64_t> w,
                       std::span<const int64_t> out) {
    const bool channels_last = has_channels_last(a);
    const auto from = ImageExtents::of(x, channels_last), to = ImageExtents::of(out, channels_last);
    const Window window(a, from.spatial, w.subspan(2), to.spatial);
    const auto order = channels_last ? ImageOrder::channels_last : ImageOrder::channels_first;
    return {window,
            from.images,
            from.channels,
            to.channels,
            a.groups,
            order(from.channels, window.plane()),
            order(to.channels, window.out_plane())};
  }

  int64_t group_in() const { return c / groups; }
  int64_t group_out() const { return o / groups; }
  /// Number of weights of one output channel.
  int64_t filter() const { return group_in() * taps(); }
  /// First channel of x that output channel `out_channel` reads.
  int64_t first_in(int64_t out_channel) const { return out_channel / group_out() * group_in(); }
};

/// The convolution from `result` to `x` of which a transposed convolution from x to result is the gradient.
template <class Typed>
ConvWindow transposed_window(const Typed& a, std::span<const int64_t> result, std::span<const int64_t> w,
                             std::span<const int64_t> x) {
  auto g = ConvWindow::of(a, result, w, x);
  if (a.output_shape.empty() && !a.auto_pad.starts_with("same")) return g;
  const size_t spatial = x.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = 3 - spatial + i;
    const int64_t extra = a.output_padding.empty() ? 0 : a.output_padding[i];
    const int64_t over = g.stride[axis] * (g.out[axis] - 1) + extra + g.span(axis) - g.in[axis];
    const AxisPadding padding = shared_padding(std::max<int64_t>(0, over), a.auto_pad == "same_upper");
    g.before[axis] = padding.before;
    g.after[axis] = padding.after;
  }
  return g;
}

/// The convolution of an operator. Its first operand is x, or for grad_x the result. For grad_w the second one is the
/// result.
template <class Typed>
ConvWindow window_of(const Problem& problem, ConvPass pass) {
  const Typed a(problem.attributes);
  const Dims &first = problem.in[0]->dims, &second = problem.in[1]->dims, &made = problem.out[0]->dims;
  const Dims& x = pass == ConvPass::grad_x ? made : first;
  const Dims& w = pass == ConvPass::grad_w ? made : second;
  const Dims& result = pass == ConvPass::forward ? made : pass == ConvPass::grad_x ? first : second;
  if constexpr (requires { a.output_shape; }) {
    return transposed_window(a, x, w, result);
  } else {
    return ConvWindow::of(a, x, w, result);
  }
}

/// An element in the form in which `Sum` adds it: floats as double, integers modulo 2^bits.
template <class Sum, class T>
Sum summand(T value) {
  if constexpr (kIsFloat<T>) {
    return to_double(value);
  } else {
    return static_cast<Sum>(value);
  }
}

/// Computes the windows of channel `o` of image `n`. Each is the sum over channels, then taps, of (x - x_zero_point) *
/// (w - w_zero_point). Padding adds nothing. `sums` has out_plane() elements.
template <class Sum, class X, class W>
void sum_windows(const ConvWindow& g, const X* x, const W* w, int64_t n, int64_t o, Sum* sums, Sum x_zero_point = {},
                 Sum w_zero_point = {}) {
  std::fill_n(sums, g.out_plane(), Sum(0));
  w += o * g.filter();
  for (int64_t i = 0; i < g.group_in(); ++i) {
    const X* plane = x + g.x_order.at(n, g.first_in(o) + i);
    for (int64_t tap = 0; tap < g.taps(); ++tap, ++w) {
      const Sum factor = summand<Sum>(*w) - w_zero_point;
      g.for_each_meeting(tap, [&](int64_t place, int64_t index) {
        sums[index] += factor * (summand<Sum>(plane[place * g.x_order.place]) - x_zero_point);
      });
    }
  }
}

}  // namespace halfstep::kernels

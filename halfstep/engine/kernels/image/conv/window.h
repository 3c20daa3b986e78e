// Convolutions over one to three axes, channels first or last, and the sums that define them.
#pragma once

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

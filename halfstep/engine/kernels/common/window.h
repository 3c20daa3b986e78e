// Windows over up to three spatial axes of images, channels first or last: the common part of all convolutions and
// pools.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/padding.h"
#include "halfstep/core/base/shape.h"

namespace halfstep::kernels {

/// Values by axis: depth, height, width. Missing axes have extent 1.
using Axes = std::array<int64_t, 3>;

/// Coordinates in [begin, end), `step` apart.
struct Steps {
  int64_t begin, end, step;
  int64_t count() const { return end <= begin ? 0 : ceil_div(end - begin, step); }
};

/// Windows [begin, end) of one axis that have a given tap inside x. The tap of window p is on element p * stride +
/// shift.
struct Overlap {
  int64_t begin, end, shift;
};

/// Tap k of window p of an axis is on element p * stride - before + k * dilation.
struct Window {
  Axes in = {1, 1, 1}, kernel = {1, 1, 1}, out = {1, 1, 1}, stride = {1, 1, 1}, dilation = {1, 1, 1};
  Axes before = {}, after = {};  ///< padding

  /// Takes the spatial extents of the images, the window and the result. `Typed` has the lists stride, dilation and
  /// pad, and auto_pad. pad has all begins before all ends. An empty list means 1 for each axis, or no padding.
  template <class Typed>
  Window(const Typed& a, std::span<const int64_t> x, std::span<const int64_t> window, std::span<const int64_t> y) {
    const size_t spatial = x.size(), first = 3 - spatial;
    for (size_t i = 0; i < spatial; ++i) {
      const size_t axis = first + i;
      in[axis] = x[i];
      kernel[axis] = window[i];
      out[axis] = y[i];
      if (!a.stride.empty()) stride[axis] = a.stride[i];
      if constexpr (requires { a.dilation; }) {
        if (!a.dilation.empty()) dilation[axis] = a.dilation[i];
      }
      AxisPadding padding = a.pad.empty() ? AxisPadding{} : AxisPadding{a.pad[i], a.pad[spatial + i]};
      if constexpr (requires { a.auto_pad; }) {
        if (a.auto_pad.starts_with("same"))
          padding = same_padding(in[axis], out[axis], stride[axis], span(axis), a.auto_pad == "same_upper");
      }
      before[axis] = padding.before;
      after[axis] = padding.after;
    }
  }

  /// Elements of an axis from the first to the last of a window.
  int64_t span(size_t axis) const { return (kernel[axis] - 1) * dilation[axis] + 1; }
  int64_t plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

  /// Positions of window p of an axis in [lowest, highest).
  Steps places(size_t axis, int64_t p, int64_t lowest, int64_t highest) const {
    const int64_t start = p * stride[axis] - before[axis], step = dilation[axis];
    const int64_t skipped = start < lowest ? ceil_div(lowest - start, step) : 0;
    return {start + skipped * step, std::min(highest, start + span(axis)), step};
  }
  Steps inside(size_t axis, int64_t p) const { return places(axis, p, 0, in[axis]); }

  /// Number of positions of window p of an axis that are in x or, with `count_pad`, in its padding.
  int64_t axis_count(size_t axis, int64_t p, bool count_pad) const {
    return (count_pad ? places(axis, p, -before[axis], in[axis] + after[axis]) : inside(axis, p)).count();
  }
  /// Number of positions of a window that are in x or, with `count_pad`, in its padding.
  int64_t count(const Axes& p, bool count_pad) const {
    return axis_count(0, p[0], count_pad) * axis_count(1, p[1], count_pad) * axis_count(2, p[2], count_pad);
  }

  /// Windows whose tap k of an axis is inside.
  Overlap overlap(size_t axis, int64_t k) const {
    const int64_t shift = k * dilation[axis] - before[axis], last = in[axis] - 1 - shift;
    return {shift >= 0 ? 0 : ceil_div(-shift, stride[axis]),
            last < 0 ? 0 : std::min(out[axis], last / stride[axis] + 1), shift};
  }

  /// Calls visit(position in the plane) for the positions of a window that are in x, in order.
  template <class Visit>
  void for_each_place(const Axes& p, const Visit& visit) const {
    const Steps a = inside(0, p[0]), b = inside(1, p[1]), c = inside(2, p[2]);
    for (int64_t i = a.begin; i < a.end; i += a.step) {
      for (int64_t j = b.begin; j < b.end; j += b.step) {
        for (int64_t k = c.begin; k < c.end; k += c.step) visit((i * in[1] + j) * in[2] + k);
      }
    }
  }

  /// Calls visit(index in the plane of results, window) for all windows in order.
  template <class Visit>
  void for_each_window(const Visit& visit) const {
    int64_t index = 0;
    for (int64_t i = 0; i < out[0]; ++i) {
      for (int64_t j = 0; j < out[1]; ++j) {
        for (int64_t k = 0; k < out[2]; ++k) visit(index++, Axes{i, j, k});
      }
    }
  }

  /// Calls visit(position in the plane, index in the plane of results) for all windows whose tap `tap` is inside, in
  /// order.
  template <class Visit>
  void for_each_meeting(int64_t tap, const Visit& visit) const {
    const Overlap a = overlap(0, tap / (kernel[1] * kernel[2])), b = overlap(1, tap / kernel[2] % kernel[1]),
                  c = overlap(2, tap % kernel[2]);
    for (int64_t i = a.begin; i < a.end; ++i) {
      for (int64_t j = b.begin; j < b.end; ++j) {
        const int64_t row = (i * stride[0] + a.shift) * in[1] + j * stride[1] + b.shift;
        for (int64_t k = c.begin; k < c.end; ++k)
          visit(row * in[2] + k * stride[2] + c.shift, (i * out[1] + j) * out[2] + k);
      }
    }
  }
};

/// Layout of images. Position p of channel c of image n has the offset n * image + c * channel + p * place.
struct ImageOrder {
  int64_t image, channel, place;

  static ImageOrder channels_first(int64_t channels, int64_t plane) { return {channels * plane, plane, 1}; }
  static ImageOrder channels_last(int64_t channels, int64_t plane) { return {channels * plane, 1, channels}; }
  int64_t at(int64_t n, int64_t c) const { return n * image + c * channel; }
};

/// Channels and spatial extents of images.
struct ImageExtents {
  int64_t images, channels;
  std::span<const int64_t> spatial;

  static ImageExtents of(std::span<const int64_t> dims, bool channels_last) {
    const size_t spatial = dims.size() - 2;
    return channels_last ? ImageExtents{dims[0], dims[spatial + 1], dims.subspan(1, spatial)}
                         : ImageExtents{dims[0], dims[1], dims.subspan(2)};
  }
};

/// Whether the images are channels-last. Without a layout attribute the channels are the second axis.
template <class Typed>
bool has_channels_last(const Typed& a) {
  if constexpr (requires { a.layout; }) return a.layout == "channels_last";
  return false;
}

/// Windows over each plane of images.
struct PoolWindow : Window {
  int64_t images, channels;
  ImageOrder x_order, out_order;

  /// Some operators compute x from `out`, others `out` from x. `out` always has the extents of the pooled side.
  template <class Typed>
  static PoolWindow of(const Typed& a, std::span<const int64_t> x, std::span<const int64_t> out, bool channels_last) {
    const auto from = ImageExtents::of(x, channels_last);
    const Window window(a, from.spatial, a.kernel, ImageExtents::of(out, channels_last).spatial);
    const auto order = channels_last ? ImageOrder::channels_last : ImageOrder::channels_first;
    return {window, from.images, from.channels, order(from.channels, window.plane()),
            order(from.channels, window.out_plane())};
  }

  int64_t planes() const { return images * channels; }
  /// Offsets of plane `plane` in x and in the result.
  int64_t x_at(int64_t plane) const { return x_order.at(plane / channels, plane % channels); }
  int64_t out_at(int64_t plane) const { return out_order.at(plane / channels, plane % channels); }
};

}  // namespace halfstep::kernels

// Extents of a convolution over the height and width of images, or also over their depth.
#pragma once

#include <array>
#include <cstdint>

#include "halfstep/core/base/shape.h"

namespace halfstep::kernels {

/// The tensor of a convolution that an operator computes from the two others.
enum class ConvPass { forward, grad_x, grad_w };

/// x[n, c, h, w], weights[o, c / groups, kh, kw], out[n, o, oh, ow]. Weight tap (ky, kx) of out pixel (oy, ox) reads x
/// pixel (oy * stride[0] - pad[0] + ky * dilation[0], ox * stride[1] - pad[1] + kx * dilation[1]). Outside of x there
/// are zeros.
struct ConvGeometry {
  int64_t n, c, h, w;
  int64_t o, oh, ow;
  int64_t groups, kh, kw;
  std::array<int64_t, 2> stride, dilation;
  std::array<int64_t, 4> pad;  ///< top, left, bottom, right
  /// A third axis in front of the height.
  struct Depth {
    int64_t x = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
  } depth = {};

  int64_t group_in() const { return c / groups; }
  int64_t group_out() const { return o / groups; }
  int64_t x_plane() const { return depth.x * h * w; }
  int64_t out_plane() const { return depth.out * oh * ow; }
  int64_t x_image() const { return c * x_plane(); }
  int64_t out_image() const { return o * out_plane(); }
  int64_t taps() const { return depth.kernel * kh * kw; }
  /// Number of weights of one output channel.
  int64_t filter() const { return group_in() * taps(); }
  int64_t weights() const { return o * filter(); }
  /// Multiplications and additions of one image, padding included.
  int64_t image_flops() const { return 2 * out_image() * filter(); }
};

/// `Typed` is the generated attribute struct of a convolution operator: groups, stride, dilation, pad. The channels of
/// x and out are the second axis, or the last.
template <class Typed>
ConvGeometry conv_geometry(const Typed& a, const Dims& x, const Dims& weights, const Dims& out,
                           bool channels_last = false) {
  const size_t c = channels_last ? 3 : 1, h = channels_last ? 1 : 2;
  return {x[0],
          x[c],
          x[h],
          x[h + 1],
          out[c],
          out[h],
          out[h + 1],
          a.groups,
          weights[2],
          weights[3],
          {a.stride[0], a.stride[1]},
          {a.dilation[0], a.dilation[1]},
          {a.pad[0], a.pad[1], a.pad[2], a.pad[3]}};
}

/// x [n, c] times the transpose of w [o, c], as windows of one pixel over a line of n pixels.
inline ConvGeometry product_geometry(const Dims& x, const Dims& w) {
  return {.n = 1,
          .c = x[1],
          .h = 1,
          .w = x[0],
          .o = w[0],
          .oh = 1,
          .ow = x[0],
          .groups = 1,
          .kh = 1,
          .kw = 1,
          .stride = {1, 1},
          .dilation = {1, 1},
          .pad = {}};
}

}  // namespace halfstep::kernels

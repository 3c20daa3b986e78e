// Shapes of the integer products.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "halfstep/base/divide.h"
#include "halfstep/base/shape.h"

namespace halfstep::kernels::onnx {

/// y[batch] = a[a_batch[batch]] * b[b_batch[batch]], each rows by inner and inner by columns.
struct MatmulShape {
  int64_t rows = 1, inner = 0, columns = 1;
  std::vector<int64_t> a_batch, b_batch;
  int64_t rows_per_piece = 1;

  /// The extents as numpy.matmul takes them.
  MatmulShape(const Dims& a, const Dims& b, const Dims& y);

  int64_t batches() const { return static_cast<int64_t>(a_batch.size()); }
  int64_t pieces_per_batch() const { return ceil_div(rows, rows_per_piece); }
  int64_t pieces() const { return batches() * pieces_per_batch(); }
};

/// A convolution over three axes, those that are not there of extent 1. Element p of an axis of y meets element
/// p * stride - begin + k * dilation of x with tap k of the kernel; outside of x lie zero points.
struct ConvShape {
  int64_t n, c, o, groups;
  std::array<int64_t, 3> in, kernel, out, stride, dilation, begin;

  /// `Typed` is the generated attribute struct.
  template <class Typed>
  static ConvShape of(const Typed& a, const Dims& x, const Dims& w, const Dims& y) {
    return ConvShape(x, w, y, a.groups, a.stride, a.dilation, a.pad, a.auto_pad);
  }

  int64_t group_in() const { return c / groups; }
  int64_t group_out() const { return o / groups; }
  int64_t x_plane() const { return in[0] * in[1] * in[2]; }
  int64_t y_plane() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

 private:
  ConvShape(const Dims& x, const Dims& w, const Dims& y, int64_t group_count, const std::vector<int64_t>& strides,
            const std::vector<int64_t>& dilations, const std::vector<int64_t>& pad, const std::string& auto_pad);
};

}  // namespace halfstep::kernels::onnx

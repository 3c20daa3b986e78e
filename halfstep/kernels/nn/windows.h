// Windows over up to three spatial axes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/base/divide.h"
#include "halfstep/base/shape.h"

namespace halfstep::kernels::nn {

/// Coordinates [begin, end) in steps.
struct Steps {
  int64_t begin, end, step;
};

/// Windows over x[n, c, ...]; axes that are not there have extent 1. Tap k of window p of an axis meets place
/// p * stride - before + k * dilation.
struct Windows {
  using Three = std::array<int64_t, 3>;
  int64_t planes = 1;
  Three in = {1, 1, 1}, kernel = {1, 1, 1}, out = {1, 1, 1}, stride = {1, 1, 1}, dilation = {1, 1, 1};
  Three before = {}, after = {};  ///< padding

  /// `Typed` is the generated attribute struct of a pooling operator.
  template <class Typed>
  Windows(const Typed& a, const Dims& x, const Dims& y) : planes(x[0] * x[1]) {
    const size_t spatial = a.kernel.size(), first = 3 - spatial;
    for (size_t i = 0; i < spatial; ++i) {
      in[first + i] = x[2 + i];
      out[first + i] = y[2 + i];
      kernel[first + i] = a.kernel[i];
      if (!a.stride.empty()) stride[first + i] = a.stride[i];
      if (!a.dilation.empty()) dilation[first + i] = a.dilation[i];
      if (a.pad.empty()) continue;
      before[first + i] = a.pad[i];
      after[first + i] = a.pad[spatial + i];
    }
    if (!a.auto_pad.starts_with("same")) return;
    for (size_t i = first; i < 3; ++i) {
      const int64_t over = std::max<int64_t>(0, (out[i] - 1) * stride[i] + span(i) - in[i]);
      before[i] = a.auto_pad == "same_upper" ? over / 2 : over - over / 2;
      after[i] = over - before[i];
    }
  }

  int64_t span(size_t axis) const { return (kernel[axis] - 1) * dilation[axis] + 1; }
  int64_t plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }

  /// Places of window p of an axis that lie in [lowest, highest).
  Steps places(size_t axis, int64_t p, int64_t lowest, int64_t highest) const {
    const int64_t start = p * stride[axis] - before[axis], step = dilation[axis];
    const int64_t skipped = start < lowest ? ceil_div(lowest - start, step) : 0;
    return {start + skipped * step, std::min(highest, start + span(axis)), step};
  }
  Steps inside(size_t axis, int64_t p) const { return places(axis, p, 0, in[axis]); }
  /// How many of its places lie in x or its padding.
  int64_t padded_count(size_t axis, int64_t p) const {
    const Steps s = places(axis, p, -before[axis], in[axis] + after[axis]);
    return s.end <= s.begin ? 0 : ceil_div(s.end - s.begin, s.step);
  }

  /// visit(place in the plane) for the places of window (p, q, r) that lie in x, in order.
  template <class Visit>
  void for_each_place(int64_t p, int64_t q, int64_t r, const Visit& visit) const {
    const Steps a = inside(0, p), b = inside(1, q), c = inside(2, r);
    for (int64_t i = a.begin; i < a.end; i += a.step) {
      for (int64_t j = b.begin; j < b.end; j += b.step) {
        for (int64_t k = c.begin; k < c.end; k += c.step) visit((i * in[1] + j) * in[2] + k);
      }
    }
  }

  /// visit(window, p, q, r) for the windows of a plane.
  template <class Visit>
  void for_each_window(const Visit& visit) const {
    int64_t window = 0;
    for (int64_t p = 0; p < out[0]; ++p) {
      for (int64_t q = 0; q < out[1]; ++q) {
        for (int64_t r = 0; r < out[2]; ++r) visit(window++, p, q, r);
      }
    }
  }
};

}  // namespace halfstep::kernels::nn

// Windows of two-dimensional pooling.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/number_types.h"

namespace halfstep::kernels {

/// Coordinates [begin, end).
struct Span1d {
  int64_t begin, end;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
};

/// `planes` images of h by w, each with windows at oh by ow positions. pad is top, left, bottom, right.
struct PoolGeometry {
  int64_t planes, h, w, oh, ow;
  std::array<int64_t, 2> kernel, stride;
  std::array<int64_t, 4> pad;
  bool count_pad = true;  ///< averages divide by the whole window, not only by its part inside the image

  int64_t plane() const { return h * w; }
  int64_t out_plane() const { return oh * ow; }
  /// Rows and columns of window (oy, ox) inside the image.
  Span1d rows(int64_t oy) const { return clip(oy * stride[0] - pad[0], kernel[0], h); }
  Span1d columns(int64_t ox) const { return clip(ox * stride[1] - pad[1], kernel[1], w); }
  /// Positions of the windows that contain row y or column x.
  Span1d places_of_row(int64_t y) const { return places(y + pad[0], kernel[0], stride[0], oh); }
  Span1d places_of_column(int64_t x) const { return places(x + pad[1], kernel[1], stride[1], ow); }
  /// Positions of the windows whose column kx is inside the image.
  Span1d inside(int64_t kx) const {
    const int64_t first = pad[1] - kx, last = w - 1 + pad[1] - kx;
    return {first <= 0 ? 0 : std::min(ow, ceil_div(first, stride[1])),
            last < 0 ? 0 : std::min(ow, last / stride[1] + 1)};
  }
  /// Divisor of an average over window (oy, ox).
  double divisor(int64_t oy, int64_t ox) const {
    return static_cast<double>(count_pad ? kernel[0] * kernel[1] : rows(oy).size() * columns(ox).size());
  }

 private:
  static Span1d clip(int64_t begin, int64_t size, int64_t extent) {
    return {std::max<int64_t>(0, begin), std::min(extent, begin + size)};
  }
  static Span1d places(int64_t padded, int64_t kernel, int64_t stride, int64_t extent) {
    const int64_t first = padded - kernel + 1;
    return {first <= 0 ? 0 : ceil_div(first, stride), std::min(extent, padded / stride + 1)};
  }
};

/// `Typed` is the generated attribute struct of a pooling operator. x and out are [n, c, height, width].
template <class Typed>
PoolGeometry pool_geometry(const Typed& a, const Dims& x, const Dims& out) {
  PoolGeometry g{x[0] * x[1],
                 x[2],
                 x[3],
                 out[2],
                 out[3],
                 {a.kernel[0], a.kernel[1]},
                 {a.stride[0], a.stride[1]},
                 {a.pad[0], a.pad[1], a.pad[2], a.pad[3]}};
  if constexpr (requires { a.count_include_pad; }) g.count_pad = a.count_include_pad;
  return g;
}

/// Initial value of the search for the largest element. It is also the result of a window without elements.
template <class T>
constexpr T lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

/// Offset in the plane of the first largest element in the rows and columns of a window, or -1 if they are empty.
template <class T>
[[gnu::always_inline]] inline int64_t first_largest(const PoolGeometry& g, const T* plane, Span1d rows,
                                                    Span1d columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return -1;
  int64_t best = rows.begin * g.w + columns.begin;
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      const int64_t at = y * g.w + x;
      best += (at - best) * static_cast<int64_t>(is_new_maximum(
                                widen(plane[at]), widen(plane[best])));  // a branch would be mispredicted half the time
    }
  }
  return best;
}

}  // namespace halfstep::kernels

// Tables of a resampled axis in the order in which vectors read them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/arith/resample.h"
#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/errors.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

/// Sources and weights of one axis, by tap and then by element of the result, padded with zeros to whole vectors.
template <class Weight>
struct TapTable {
  /// `one_weights` are the weights of the axis as numbers of this type. `lanes`: the most elements of a vector.
  TapTable(const arith::ResampledAxis& axis, const std::vector<Weight>& one_weights, int64_t lanes)
      : in(axis.in), out(axis.out), width(axis.width), padded(ceil_div(axis.out, lanes) * lanes) {
    places.resize(static_cast<size_t>(width * padded));
    weights.resize(places.size());
    for (int64_t i = 0; i < out; ++i) {
      for (int64_t tap = 0; tap < width; ++tap) {
        const auto to = static_cast<size_t>(tap * padded + i), from = static_cast<size_t>(i * width + tap);
        places[to] = static_cast<int32_t>(axis.places[from]);
        weights[to] = one_weights[from];
      }
    }
  }

  const int32_t* places_of(int64_t tap) const { return places.data() + tap * padded; }
  const Weight* weights_of(int64_t tap) const { return weights.data() + tap * padded; }

  int64_t in, out, width, padded;
  std::vector<int32_t> places;
  std::vector<Weight> weights;
};

/// An axis that does not change.
inline arith::ResampledAxis unchanged_axis(int64_t extent) {
  arith::ResampledAxis axis;
  axis.in = axis.out = extent;
  for (int64_t i = 0; i < extent; ++i) axis.places.push_back(i);
  axis.weights.assign(axis.places.size(), 1);
  return axis;
}

/// The last two axes of x, of which those in `axes` change. There is one row if x has a single axis.
inline std::pair<arith::ResampledAxis, arith::ResampledAxis> last_axes(const std::vector<arith::ResampledAxis>& axes,
                                                                       const Dims& x) {
  const auto axis_at = [&](size_t from_end) {
    for (const arith::ResampledAxis& one : axes) {
      if (one.axis + from_end == x.size()) return one;
    }
    return unchanged_axis(from_end <= x.size() ? x[x.size() - from_end] : 1);
  };
  return {axis_at(2), axis_at(1)};
}

/// Refuses a resampling of other axes than the last two.
inline Verdict accept_last_axes(const std::vector<arith::ResampledAxis>& axes, const Dims& x) {
  for (const arith::ResampledAxis& axis : axes) {
    if (axis.axis + 2 < x.size())
      return refuse(errors::attribute_does_not_fit("axes", std::to_string(axis.axis), "the last two"));
  }
  return accept();
}

/// Pieces of resampled images: whole rows of about kElements elements, a few microseconds of work.
struct RowPieces {
  static constexpr int64_t kElements = int64_t{1} << 13;

  RowPieces(int64_t image_rows, int64_t columns)
      : lines(std::clamp<int64_t>(kElements / columns, 1, image_rows)), blocks(ceil_div(image_rows, lines)) {}

  int64_t image(int64_t piece) const { return piece / blocks; }
  int64_t first_row(int64_t piece) const { return piece % blocks * lines; }

  int64_t lines, blocks;  ///< rows of a piece, pieces of an image
};

}  // namespace halfstep::kernels

// Rows that are normalized independently, and the positions of their scales.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/common/number_types.h"

namespace halfstep::kernels {

struct Moments {
  double mean, inverse_std;
};

template <class T>
Moments moments_of(const T* x, int64_t count, double epsilon) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) sum += to_double(x[i]);
  const double mean = sum / static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    const double rest = to_double(x[i]) - mean;
    squares += rest * rest;
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

/// Rows of contiguous elements, each normalized on its own.
struct RowState {
  int64_t row;
  Dims x, scale;
  double epsilon;
};

template <class Typed>
Plan prepare_rows(const Problem& problem) {
  const Typed a(problem.attributes);
  const Dims& x = problem.in[0]->dims;
  const Axis axis(x, a.axis);
  const int64_t row = axis.extent * axis.inner;
  return {.state = std::make_shared<RowState>(row, x, problem.in[1]->dims, a.epsilon),
          .phases = {row == 0 ? 0 : axis.outer}};
}

/// Whether `scale` has the extents of the last axes of x, apart from leading extents of 1.
inline bool is_tail_of(const Dims& scale, const Dims& x) {
  size_t ones = 0;
  while (ones < scale.size() && scale[ones] == 1) ++ones;
  return std::equal(scale.rbegin(), scale.rend() - static_cast<std::ptrdiff_t>(ones), x.rbegin());
}

/// Position of the scale for the first element of row `piece`, if the scales of the row are contiguous. Otherwise -1.
inline int64_t scale_begin(const RowState& state, int64_t piece) {
  if (!is_tail_of(state.scale, state.x)) return -1;
  const int64_t size = count_elements(state.scale);
  if (size == state.row) return 0;
  return size == count_elements(state.x) ? piece * state.row : -1;
}

/// Calls body(place), where place(i) is the position in scale and bias of element i of row `piece`.
template <class Body>
void with_places(const RowState& state, int64_t piece, const Body& body) {
  const int64_t begin = scale_begin(state, piece);
  if (begin >= 0) return body([begin](int64_t i) { return begin + i; });
  body([&](int64_t i) { return broadcast_index(state.scale, state.x, piece * state.row + i); });
}

}  // namespace halfstep::kernels

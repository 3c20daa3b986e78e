// Rows of elements along an axis of a tensor, in pieces.
#pragma once

#include <algorithm>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/channels.h"

namespace halfstep::kernels {

/// Lanes after the end of a row's words that vectors may read or write, on any level.
inline constexpr int64_t kSpareLanes = 16;

/// `rows` rows of `extent` elements, which are `stride` apart.
struct Rows {
  int64_t rows = 0, extent = 0, stride = 1;

  /// Rows along `axis`, or with `flattened` over all elements from that axis on. A negative axis counts from the end.
  static Rows of(std::span<const int64_t> dims, int64_t axis, bool flattened = false) {
    if (axis < 0) axis += static_cast<int64_t>(dims.size());
    const Channels channels = Channels::of(dims, axis);
    if (flattened) return {channels.outer, channels.count * channels.run, 1};
    return {channels.outer * channels.run, channels.count, channels.run};
  }

  /// Position of the first element of a row.
  int64_t first(int64_t row) const { return row / stride * extent * stride + row % stride; }

  /// Number of pieces of a few microseconds each. If there are several, the number is even, so that two workers end
  /// together.
  int64_t pieces() const {
    const int64_t wanted = ceil_div(rows * extent, kPieceElements >> 4);
    return wanted > 1 ? std::min(round_up(wanted, 2), rows) : 1;
  }

  struct Range {
    int64_t begin, end;
  };
  Range piece(int64_t index) const { return {index * rows / pieces(), (index + 1) * rows / pieces()}; }

  /// Calls visit(row) for the rows of a piece.
  template <class Visit>
  void for_piece(int64_t index, Visit&& visit) const {
    const auto [begin, end] = piece(index);
    for (int64_t row = begin; row < end; ++row) visit(row);
  }
};

}  // namespace halfstep::kernels

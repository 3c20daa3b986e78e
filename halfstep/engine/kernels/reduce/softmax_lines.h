// The lines of a softmax, in pieces.
#pragma once

#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

struct SoftmaxLines {
  Axis axis;

  /// Lines along axis `at`, or with `flattened` over all elements from that axis on.
  SoftmaxLines(const Dims& x, int64_t at, bool flattened) : axis(x, at) {
    if (flattened) axis = Axis(axis.outer, axis.extent * axis.inner, 1);
  }
  int64_t per_piece() const { return std::max<int64_t>(1, kElements / std::max<int64_t>(1, axis.extent)); }
  int64_t pieces() const { return axis.extent == 0 ? 0 : ceil_div(axis.lines(), per_piece()); }

  /// Calls visit(first element) for the lines of a piece.
  template <class Visit>
  void for_each(int64_t piece, const Visit& visit) const {
    const int64_t end = std::min(axis.lines(), (piece + 1) * per_piece());
    for (int64_t line = piece * per_piece(); line < end; ++line) visit(axis.begin(line));
  }

 private:
  static constexpr int64_t kElements = 8192;  ///< elements of a piece
};

/// Plans one double of scratch for each element of a line.
template <class Typed>
Plan prepare_softmax_lines(const Problem& problem) {
  const Typed a(problem.attributes);
  auto lines = std::make_shared<SoftmaxLines>(problem.in[0]->dims, a.axis, a.flattened);
  const int64_t pieces = lines->pieces();
  const auto scratch = static_cast<size_t>(lines->axis.extent) * sizeof(double);
  return {.state = std::move(lines), .worker_scratch = scratch, .phases = {pieces}};
}

}  // namespace halfstep::kernels

// Pieces of pooling work. Small planes share one piece.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/image/pool/geometry.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

struct PoolState {
  PoolGeometry geometry;
  int64_t planes_per_piece;

  explicit PoolState(const PoolGeometry& g)
      : geometry(g),
        planes_per_piece(std::max<int64_t>(1, 16384 / std::max<int64_t>(1, std::max(g.plane(), g.out_plane())))) {}
};

/// `worker_doubles` is the worker scratch in doubles.
inline Plan pool_plan(const PoolGeometry& g, int64_t worker_doubles = 0) {
  auto state = std::make_shared<PoolState>(g);
  const int64_t pieces = ceil_div(g.planes, state->planes_per_piece);
  return {.state = std::move(state),
          .worker_scratch = static_cast<size_t>(worker_doubles) * sizeof(double),
          .phases = {pieces}};
}

/// For kernels that process a row of all windows at once, one window column after another. A window far wider than the
/// image would make them visit endless columns. The reference visits only the part inside.
template <class Typed>
Verdict accept_narrow(const Problem& problem) {
  const int64_t width = problem.in[0]->dims[3], window = Typed(problem.attributes).kernel[1];
  if (window > width)
    return refuse(errors::kernel_is_for_other_sizes(fmt::format("a window of {} columns", window),
                                                    fmt::format("at most the {} of the image", width)));
  return accept();
}

/// Calls body(geometry, plane) for the planes of a piece.
template <class Body>
void for_each_plane(const Call& call, int64_t piece, Body&& body) {
  const auto& state = state_of<PoolState>(call);
  const int64_t end = std::min(state.geometry.planes, (piece + 1) * state.planes_per_piece);
  for (int64_t plane = piece * state.planes_per_piece; plane < end; ++plane) body(state.geometry, plane);
}

}  // namespace halfstep::kernels

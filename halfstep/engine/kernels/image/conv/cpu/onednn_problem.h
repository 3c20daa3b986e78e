// Convolution operators as problems of oneDNN.
#pragma once

#include <fmt/format.h>

#include "halfstep/engine/kernels/common/onednn.h"
#include "halfstep/engine/kernels/image/conv/window.h"

namespace halfstep::kernels {

inline ConvGeometry geometry_of(const ConvWindow& g) {
  return {.n = g.n,
          .c = g.c,
          .h = g.in[1],
          .w = g.in[2],
          .o = g.o,
          .oh = g.out[1],
          .ow = g.out[2],
          .groups = g.groups,
          .kh = g.kernel[1],
          .kw = g.kernel[2],
          .stride = {g.stride[1], g.stride[2]},
          .dilation = {g.dilation[1], g.dilation[2]},
          .pad = {g.before[1], g.before[2], g.after[1], g.after[2]},
          .depth = {g.in[0], g.out[0], g.kernel[0], g.stride[0], g.dilation[0], g.before[0], g.after[0]}};
}

/// oneDNN requires that the extents of the result follow from those of x.
template <class Typed, ConvPass kPass>
Verdict accept_convolution(const Problem& problem) {
  if (Verdict verdict = onednn::accept_f32(problem); !verdict) return verdict;
  const auto g = window_of<Typed>(problem, kPass);
  for (size_t axis = 0; axis < 3; ++axis) {
    const int64_t room = g.in[axis] + g.before[axis] + g.after[axis] - g.span(axis);
    if (room < 0 || room / g.stride[axis] + 1 != g.out[axis])
      return refuse(errors::kernel_is_for_other_sizes(
          fmt::format("{} windows along an axis", g.out[axis]),
          fmt::format("the {} for which it has room", room < 0 ? 0 : room / g.stride[axis] + 1)));
  }
  return accept();
}

}  // namespace halfstep::kernels

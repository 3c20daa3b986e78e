// Extents of layers whose channels are the last axis, in the terms of the others.
#pragma once

#include "halfstep/kernels/activation.h"
#include "halfstep/kernels/conv/geometry.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/pool/geometry.h"

namespace halfstep::kernels::channels_last {

/// [n, h, w, c] as [n, c, h, w].
inline Dims channels_first(const Dims& dims) { return {dims[0], dims[3], dims[1], dims[2]}; }

inline ConvGeometry conv_geometry_of(const Problem& problem) {
  using In = ChannelsLastConv2d::in;
  return conv_geometry(ChannelsLastConv2d(problem.attributes), channels_first(problem.in[In::x]->dims),
                       problem.in[In::w]->dims, channels_first(problem.out[0]->dims));
}

inline Activation activation_of(const Problem& problem) {
  const ChannelsLastConv2d a(problem.attributes);
  return Activation::of(a.activation, a.alpha);
}

/// `planes` counts images here: each has all channels of its pixels beside each other.
struct ImagePool {
  PoolGeometry geometry;
  int64_t channels;
};

template <class Typed>
ImagePool pool_of(const Problem& problem) {
  const Dims& x = problem.in[0]->dims;
  ImagePool pool{pool_geometry(Typed(problem.attributes), channels_first(x), channels_first(problem.out[0]->dims)),
                 x[3]};
  pool.geometry.planes = x[0];
  return pool;
}

}  // namespace halfstep::kernels::channels_last

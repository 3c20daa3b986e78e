// Extents of channels-last layers in the order of channels-first layers.
#pragma once

#include "halfstep/engine/kernels/common/activation.h"
#include "halfstep/engine/kernels/common/conv_geometry.h"
#include "halfstep/engine/kernels/errors.h"
#include "halfstep/engine/kernels/image/pool/geometry.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels::channels_last {

/// Converts extents from [n, h, w, c] to [n, c, h, w].
inline Dims channels_first(const Dims& dims) { return {dims[0], dims[3], dims[1], dims[2]}; }

/// Whether the operator's images are channels-last. False for an operator without that attribute.
inline bool is_channels_last(const Attributes& attributes) {
  const auto layout = attributes.find("layout");
  return layout != attributes.end() && std::get<std::string>(layout->second) == "channels_last";
}
inline Verdict accept_channels_last(const Problem& problem) {
  return is_channels_last(problem.attributes) ? accept()
                                              : refuse(errors::kernel_needs_layout("channels on the last axis"));
}

inline ConvGeometry conv_geometry_of(const Problem& problem) {
  using In = FusedConv2d::in;
  return conv_geometry(FusedConv2d(problem.attributes), problem.in[In::x]->dims, problem.in[In::w]->dims,
                       problem.out[0]->dims, true);
}

inline Activation activation_of(const Problem& problem) {
  const FusedConv2d a(problem.attributes);
  return Activation::of(a.activation, a.alpha);
}

/// A pool on channels-last images. `planes` counts images, because the channels of a pixel are adjacent.
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

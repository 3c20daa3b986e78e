// What the kernels of the min/max observers and of the fused operator share: attributes, and the step of the state.
#pragma once

#include "halfstep/kernels/float_types.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/quantize/blocks.h"
#include "halfstep/kernels/torch/range.h"
#include "halfstep/kernels/torch/rule.h"

namespace halfstep::kernels::torch {

/// The extremes of x by channels. NaN in a channel makes both NaN; of two zeros +0 is kept.
struct Watched {
  DType dtype = DType::f32;
  Channels channels;
  Blocks blocks;

  Watched() = default;
  /// axis -1: the tensor is one channel.
  Watched(const Type& x, int64_t axis) : dtype(x.dtype), channels(Channels::of(x.dims, axis)), blocks(channels) {}
  bool is_empty() const { return channels.size() == 0; }
};

/// Attributes that all observers have.
template <class Op>
ObserverGrid observer_grid(const Op& attributes) {
  const bool symmetric = attributes.qscheme.ends_with("symmetric");
  const bool float_zero = attributes.qscheme.ends_with("float_qparams");
  return {attributes.quant_min, attributes.quant_max,
          symmetric    ? Scheme::symmetric
          : float_zero ? Scheme::float_zero
                       : Scheme::affine,
          attributes.dtype == "quint8", static_cast<float>(attributes.eps)};
}

/// Element `channel` of scale and zero_point, of whichever type the operator has it.
void store_parameters(const ObserverParameters& parameters, const View& scale, const View& zero_point, int64_t channel);

/// One use of a min/max observer; their operands and results have the same positions.
struct RangeObserver {
  using In = MinMaxObserver::in;
  using Out = MinMaxObserver::out;

  Watched x;
  bool moving = false;
  float rate = 0.0F;  ///< of a moving average
  ObserverGrid grid;

  /// `Op` is the generated struct of the operator.
  template <class Op>
  explicit RangeObserver(const Problem& problem, const Op& attributes) : grid(observer_grid(attributes)) {
    int64_t axis = -1;
    if constexpr (requires { attributes.ch_axis; }) axis = attributes.ch_axis;
    if constexpr (requires { attributes.averaging_constant; }) {
      moving = true;
      rate = static_cast<float>(attributes.averaging_constant);
    }
    x = Watched(*problem.in[Op::in::x], axis);
    static_assert(Op::in::x == In::x && Op::in::min_val == In::min_val && Op::in::max_val == In::max_val);
    static_assert(Op::out::scale == Out::scale && Op::out::zero_point == Out::zero_point);
  }

  /// Writes the state after a batch and its parameters. The outputs may be the inputs' memory.
  void step(const Call& call, int64_t channel, const Extremes& batch) const;
};

/// One use of the fused operator.
struct FusedObserver {
  using In = FusedMovingAvgObsFakeQuant::in;
  using Out = FusedMovingAvgObsFakeQuant::out;

  Watched x;
  bool observes = false, quantizes = false, per_row = false;
  float rate = 0.0F;
  FusedGrid whole_grid;
  Grid grid;

  explicit FusedObserver(const Problem& problem);

  /// Writes the state after a batch; what the channel is then quantized with.
  Parameters step(const Call& call, int64_t channel, const Extremes& batch) const;
};

/// Extremes of a block, the plain way.
template <class T>
Extremes extremes_of_block(const T* src, const Blocks& blocks, int64_t block) {
  Extremes found;
  blocks.for_each_slice(block, [&](int64_t begin, int64_t size, int64_t) {
    for (int64_t i = begin; i < begin + size; ++i) {
      const auto x = static_cast<float>(src[i]);
      found = found.with({x, x});
    }
  });
  return found;
}

}  // namespace halfstep::kernels::torch

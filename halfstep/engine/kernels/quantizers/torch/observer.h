// Parts that the kernels of the min/max observers and of the fused operator share: attributes, and the update of the
// state.
#pragma once

#include "halfstep/engine/kernels/common/blocks.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/torch/range.h"
#include "halfstep/engine/kernels/quantizers/torch/rule.h"

namespace halfstep::kernels::torch {

/// The extremes of x by channel. NaN in a channel makes both extremes NaN. A zero is stored as +0.
struct Watched {
  DType dtype = DType::f32;
  Channels channels;
  Blocks blocks;

  Watched() = default;
  /// With axis -1 the tensor is one channel.
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

/// Destination of an observer's parameters: a float scale, and a zero point of the operator's type.
struct ParameterResults {
  float* scale = nullptr;
  void* zero_point = nullptr;
  DType zero_point_type = DType::i32;

  ParameterResults(const View& scales, const View& zero_points)
      : scale(scales.as<float>()), zero_point(zero_points.data), zero_point_type(zero_points.dtype) {}

  HS_HOST_DEVICE void store(const ObserverParameters& parameters, int64_t channel) const {
    scale[channel] = parameters.scale;
    const double zero = parameters.zero_point;
    switch (zero_point_type) {
      case DType::i32: static_cast<int32_t*>(zero_point)[channel] = static_cast<int32_t>(zero); return;
      case DType::i64: static_cast<int64_t*>(zero_point)[channel] = static_cast<int64_t>(zero); return;
      default: static_cast<float*>(zero_point)[channel] = static_cast<float>(zero);
    }
  }
};

/// Updates the state of an observer with a batch, by channel. Results and operands may share memory.
struct RangeStep {
  const float *low, *high;
  float *low_out, *high_out;
  ParameterResults results;
  ObserverGrid grid;
  bool is_empty, moving;
  float rate;

  HS_HOST_DEVICE void operator()(int64_t channel, const Extremes& batch) const {
    Extremes state{low[channel], high[channel]};
    if (!is_empty) {
      if (!state.seen()) {
        state = batch;
      } else if (moving) {
        state = {moved(state.low, batch.low, rate), moved(state.high, batch.high, rate)};
      } else {
        state = state.with(batch);
      }
    }
    low_out[channel] = state.low;
    high_out[channel] = state.high;
    results.store(observer_parameters(state, grid), channel);
  }
};

/// One use of a min/max observer. Their operands and results have equal positions.
struct RangeObserver {
  using In = MinMaxObserver::in;
  using Out = MinMaxObserver::out;

  Watched x;
  bool moving = false;
  float rate = 0.0F;  ///< rate of a moving average
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

  RangeStep step(const Call& call) const {
    return {call.in[In::min_val].as<const float>(),
            call.in[In::max_val].as<const float>(),
            call.out[Out::min_val_out].as<float>(),
            call.out[Out::max_val_out].as<float>(),
            {call.out[Out::scale], call.out[Out::zero_point]},
            grid,
            x.is_empty(),
            moving,
            rate};
  }
};

/// Updates the state of the fused operator with a batch, by channel. Results and operands may share memory.
struct FusedStep {
  const float *low, *high, *scale;
  const int32_t* zero_point;
  float *low_out, *high_out, *scale_out;
  int32_t* zero_point_out;
  FusedGrid grid;
  bool observes, quantizes;
  float rate;

  /// Updates a channel and returns the parameters that quantize it.
  HS_HOST_DEVICE Parameters operator()(int64_t channel, const Extremes& batch) const {
    Extremes state{low[channel], high[channel]};
    WholeParameters parameters{scale[channel], zero_point[channel]};
    if (observes) {
      state.low = std::isinf(state.low) ? batch.low : moved(state.low, batch.low, rate);
      state.high = std::isinf(state.high) ? batch.high : moved(state.high, batch.high, rate);
    }
    if (quantizes) parameters = fused_parameters(state, grid);
    low_out[channel] = state.low;
    high_out[channel] = state.high;
    scale_out[channel] = parameters.scale;
    zero_point_out[channel] = parameters.zero_point;
    return Parameters::of(parameters.scale, static_cast<float>(parameters.zero_point));
  }
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

  FusedStep step(const Call& call) const;
};

/// Extremes of a block, without vectors.
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

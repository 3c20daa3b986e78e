#include "halfstep/kernels/torch/observer.h"

namespace halfstep::kernels::torch {

void store_parameters(const ObserverParameters& parameters, const View& scale, const View& zero_point,
                      int64_t channel) {
  scale.as<float>()[channel] = parameters.scale;
  switch (zero_point.dtype) {
    case DType::i32: zero_point.as<int32_t>()[channel] = static_cast<int32_t>(parameters.zero_point); return;
    case DType::i64: zero_point.as<int64_t>()[channel] = static_cast<int64_t>(parameters.zero_point); return;
    default: zero_point.as<float>()[channel] = static_cast<float>(parameters.zero_point);
  }
}

void RangeObserver::step(const Call& call, int64_t channel, const Extremes& batch) const {
  Extremes state{call.in[In::min_val].as<const float>()[channel], call.in[In::max_val].as<const float>()[channel]};
  if (!x.is_empty()) {
    if (!state.seen()) {
      state = batch;
    } else if (moving) {
      state = {moved(state.low, batch.low, rate), moved(state.high, batch.high, rate)};
    } else {
      state = state.with(batch);
    }
  }
  call.out[Out::min_val_out].as<float>()[channel] = state.low;
  call.out[Out::max_val_out].as<float>()[channel] = state.high;
  store_parameters(observer_parameters(state, grid), call.out[Out::scale], call.out[Out::zero_point], channel);
}

FusedObserver::FusedObserver(const Problem& problem) {
  const FusedMovingAvgObsFakeQuant attributes(problem.attributes);
  per_row = attributes.per_row_fake_quant;
  x = Watched(*problem.in[In::x], per_row ? attributes.ch_axis : -1);
  observes = attributes.observer_on && !x.is_empty();
  quantizes = attributes.fake_quant_on && !x.is_empty();
  rate = static_cast<float>(attributes.averaging_const);
  whole_grid = {static_cast<int32_t>(attributes.quant_min), static_cast<int32_t>(attributes.quant_max),
                attributes.symmetric_quant};
  grid = {static_cast<float>(attributes.quant_min), static_cast<float>(attributes.quant_max)};
}

Parameters FusedObserver::step(const Call& call, int64_t channel, const Extremes& batch) const {
  Extremes state{call.in[In::running_min].as<const float>()[channel],
                 call.in[In::running_max].as<const float>()[channel]};
  WholeParameters parameters{call.in[In::scale].as<const float>()[channel],
                             call.in[In::zero_point].as<const int32_t>()[channel]};
  if (observes) {
    state.low = std::isinf(state.low) ? batch.low : moved(state.low, batch.low, rate);
    state.high = std::isinf(state.high) ? batch.high : moved(state.high, batch.high, rate);
  }
  if (quantizes) parameters = fused_parameters(state, whole_grid);
  call.out[Out::running_min_out].as<float>()[channel] = state.low;
  call.out[Out::running_max_out].as<float>()[channel] = state.high;
  call.out[Out::scale_out].as<float>()[channel] = parameters.scale;
  call.out[Out::zero_point_out].as<int32_t>()[channel] = parameters.zero_point;
  return Parameters::of(parameters.scale, static_cast<float>(parameters.zero_point));
}

}  // namespace halfstep::kernels::torch

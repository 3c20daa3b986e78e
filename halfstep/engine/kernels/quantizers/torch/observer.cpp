#include "halfstep/engine/kernels/quantizers/torch/observer.h"

namespace halfstep::kernels::torch {

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

FusedStep FusedObserver::step(const Call& call) const {
  return {call.in[In::running_min].as<const float>(),
          call.in[In::running_max].as<const float>(),
          call.in[In::scale].as<const float>(),
          call.in[In::zero_point].as<const int32_t>(),
          call.out[Out::running_min_out].as<float>(),
          call.out[Out::running_max_out].as<float>(),
          call.out[Out::scale_out].as<float>(),
          call.out[Out::zero_point_out].as<int32_t>(),
          whole_grid,
          observes,
          quantizes,
          rate};
}

}  // namespace halfstep::kernels::torch

// What the kernels of the learned quantizers' gradients share.
#pragma once

#include "halfstep/kernels/float_types.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/quantize/blocks.h"
#include "halfstep/kernels/torch/rule.h"

namespace halfstep::kernels::torch {

/// One use of either gradient operator; their operands and results have the same positions.
struct LearnableGrad {
  using In = FakeQuantizeLearnablePerChannelAffineGrad::in;
  using Out = FakeQuantizeLearnablePerChannelAffineGrad::out;

  Grid grid;
  float factor = 1.0F;
  DType dtype = DType::f32;
  Channels channels;
  Blocks blocks;
  bool per_tensor = false;

  explicit LearnableGrad(const Problem& problem);

  Parameters parameters(const Call& call, int64_t channel) const {
    const float raw = call.in[In::zero_point].as<const float>()[channel];
    const float zero_point = per_tensor ? truncated_zero_point(raw, grid) : nearest_zero_point(raw, grid);
    return Parameters::of(call.in[In::scale].as<const float>()[channel], zero_point);
  }
};

static_assert(FakeQuantizeLearnablePerTensorAffineGrad::in::scale == LearnableGrad::In::scale &&
              FakeQuantizeLearnablePerTensorAffineGrad::in::zero_point == LearnableGrad::In::zero_point &&
              FakeQuantizeLearnablePerTensorAffineGrad::in::out_grad == LearnableGrad::In::out_grad &&
              FakeQuantizeLearnablePerTensorAffineGrad::out::zero_point_grad == LearnableGrad::Out::zero_point_grad);

}  // namespace halfstep::kernels::torch

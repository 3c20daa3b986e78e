// Requantization of a quantized layer's accumulators by its scales, zero points and bias.
#pragma once

#include "halfstep/engine/kernels/codes/rule.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {

/// Operands of quantized_conv2d and quantized_linear, which have equal positions.
struct LayerOperands {
  float x_scale = 1.0F;
  int32_t x_zero_point = 0;
  const float* w_scale = nullptr;
  int64_t w_scales = 1;  ///< one for all output channels, or one for each
  const float* b = nullptr;
  float y_scale = 1.0F;
  int32_t y_zero_point = 0;

  explicit LayerOperands(const Call& call);
  float weight_scale(int64_t channel) const { return w_scale[w_scales == 1 ? 0 : channel]; }
  int32_t bias_code(int64_t channel) const;
  /// Derives the requantizer of a channel. If the rule is an engine's, the requantizer includes the bias, and `layer`
  /// selects the kernel that the engine would run.
  Status derive(const RequantizeRule& rule, const arith::EngineLayer& layer, int64_t channel,
                arith::Requantizer& requantizer) const;
};

/// Adds the channel to an error.
Status of_channel(const Status& status, int64_t channel);

}  // namespace halfstep::kernels

#include "halfstep/engine/kernels/codes/training/layer_parameters.h"

#include <fmt/format.h>

#include "halfstep/core/arith/bias.h"

namespace halfstep::kernels {
namespace {

using In = QuantizedConv2d::in;
using LinearIn = QuantizedLinear::in;
static_assert(In::x == LinearIn::x && In::x_scale == LinearIn::x_scale && In::x_zero_point == LinearIn::x_zero_point &&
              In::w == LinearIn::w && In::w_scale == LinearIn::w_scale && In::b == LinearIn::b &&
              In::y_scale == LinearIn::y_scale && In::y_zero_point == LinearIn::y_zero_point);

}  // namespace

LayerOperands::LayerOperands(const Call& call)
    : x_scale(*call.in[In::x_scale].as<const float>()),
      x_zero_point(*call.in[In::x_zero_point].as<const int32_t>()),
      w_scale(call.in[In::w_scale].as<const float>()),
      w_scales(call.in[In::w_scale].size()),
      b(call.in[In::b].as<const float>()),
      y_scale(*call.in[In::y_scale].as<const float>()),
      y_zero_point(*call.in[In::y_zero_point].as<const int32_t>()) {}

int32_t LayerOperands::bias_code(int64_t channel) const {
  return b == nullptr ? 0 : arith::bias_code(b[channel], x_scale, weight_scale(channel));
}

Status LayerOperands::derive(const RequantizeRule& rule, const arith::EngineLayer& layer, int64_t channel,
                             arith::Requantizer& requantizer) const {
  const float bias = b == nullptr ? 0.0F : b[channel];
  return of_channel(rule.for_layer({x_scale, weight_scale(channel), y_scale, bias, layer}, requantizer), channel);
}

Status of_channel(const Status& status, int64_t channel) {
  if (status.ok()) return status;
  return Status(prefixed(fmt::format("channel {}", channel), Error(status.diagnostic())).diagnostics().front());
}

}  // namespace halfstep::kernels

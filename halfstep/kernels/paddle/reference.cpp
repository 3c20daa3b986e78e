// Paddle's fake-quantize operators as docs/arithmetic.md, section 8, states them.
#include <memory>

#include "halfstep/kernels/kernel.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/paddle/rule.h"
#include "halfstep/kernels/quantize/channels.h"

namespace halfstep::kernels {
namespace {

using Average = FakeQuantizeDequantizeMovingAverageAbsMax;
using ChannelWise = FakeChannelWiseQuantizeDequantizeAbsMax;

Verdict accept_all(const Problem&) { return accept(); }

struct AverageState {
  paddle::Rule rule;
  float rate;
  bool is_test;
};

Plan prepare_average(const Problem& problem) {
  const Average attributes(problem.attributes);
  return {.state = std::make_shared<AverageState>(paddle::Rule::of(attributes.bit_length, attributes.round_type),
                                                  static_cast<float>(attributes.moving_rate), attributes.is_test)};
}

/// The scale of this step; in training the new state is written.
float step_average(const Call& call, const AverageState& state) {
  if (state.is_test) return *call.in[Average::in::in_scale].as<const float>();
  const ConstView& x = call.in[Average::in::x];
  const auto next = paddle::MovingAverage::of(*call.in[Average::in::in_accum].as<const float>(),
                                              *call.in[Average::in::in_state].as<const float>(),
                                              paddle::abs_max(x.as<const float>(), x.size()), state.rate);
  *call.out[Average::out::out_scale].as<float>() = next.scale;
  *call.out[Average::out::out_state].as<float>() = next.state;
  *call.out[Average::out::out_accum].as<float>() = next.accum;
  return next.scale;
}

Status run_average(const Call& call, int, int64_t) {
  const auto& state = *static_cast<const AverageState*>(call.state);
  const ConstView& x = call.in[Average::in::x];
  const float scale = step_average(call, state);
  for (int64_t i = 0; i < x.size(); ++i)
    call.out[Average::out::out_].as<float>()[i] =
        paddle::quantize_dequantize(x.as<const float>()[i], scale, state.rule);
  return {};
}

struct ChannelState {
  paddle::Rule rule;
  int64_t axis;
};

Plan prepare_channel_wise(const Problem& problem) {
  const ChannelWise attributes(problem.attributes);
  return {.state = std::make_shared<ChannelState>(paddle::Rule::of(attributes.bit_length, attributes.round_type),
                                                  attributes.quant_axis)};
}

Status run_channel_wise(const Call& call, int, int64_t) {
  const auto& state = *static_cast<const ChannelState*>(call.state);
  const ConstView& x = call.in[ChannelWise::in::x];
  const auto* src = x.as<const float>();
  auto* dst = call.out[ChannelWise::out::out_].as<float>();
  auto* scale = call.out[ChannelWise::out::out_scale].as<float>();
  const Channels channels = Channels::of(x.dims, state.axis);
  for (int64_t c = 0; c < channels.count; ++c) {
    scale[c] = 0.0F;
    for (int64_t o = 0; o < channels.outer; ++o) {
      const float top = paddle::abs_max(src + (o * channels.count + c) * channels.run, channels.run);
      // On axis 0 the only run is the scale, NaN or not; on axis 1 a run that starts with NaN is passed over.
      if (state.axis == 0 || scale[c] < top) scale[c] = top;
    }
  }
  for (int64_t i = 0; i < channels.size(); ++i)
    dst[i] = paddle::quantize_dequantize(src[i], scale[i / channels.run % channels.count], state.rule);
  return {};
}

}  // namespace

const Kernel reference_fake_quantize_dequantize_moving_average_abs_max = {"reference", accept_all, prepare_average,
                                                                          run_average};
const Kernel reference_fake_channel_wise_quantize_dequantize_abs_max = {"reference", accept_all, prepare_channel_wise,
                                                                        run_channel_wise};

}  // namespace halfstep::kernels

// Reference kernels of convolution and matrix product on codes, in training (docs/arithmetic.md, section 5).
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/codes/training/layer_parameters.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Requantization of the sums of one output channel.
struct Channel {
  int32_t bias = 0;  ///< bias in steps of the sum
  int32_t y_zero_point = 0;
  bool adds_bias = true;  ///< the bias is added to the sum. An engine's Requantizer adds the float bias itself
  arith::Requantizer requantizer;
  arith::Clamp clamp;

  Status derive(const RequantizeRule& rule, const LayerOperands& scales, const arith::EngineLayer& layer, int64_t o) {
    bias = scales.bias_code(o);
    y_zero_point = scales.y_zero_point;
    clamp = rule.clamp(scales.y_scale, y_zero_point);
    adds_bias = !arith::traits(rule.form).is_engine;
    return scales.derive(rule, layer, o, requantizer);
  }
  /// The accumulator has 32 bits and wraps around. Conversion proves that it does not overflow.
  int32_t accumulator(int64_t sum) const { return static_cast<int32_t>(sum + bias); }
  int32_t code(int64_t sum) const {
    const int32_t acc = adds_bias ? accumulator(sum) : static_cast<int32_t>(sum);
    return clamp.apply(arith::requantize(requantizer, acc, y_zero_point));
  }
};

/// Stores the code, and the accumulator if that result is produced.
void store(const Call& call, const Channel& channel, int64_t index, int64_t sum) {
  const View& acc = call.out[QuantizedConv2d::out::acc];
  if (acc.present()) acc.as<int32_t>()[index] = channel.accumulator(sum);
  visit_codes(call.out[QuantizedConv2d::out::out_],
              [&]<class Code>(Code* dst) { dst[index] = static_cast<Code>(channel.code(sum)); });
}

/// sum (x - x_zero_point) * w for one output. Padding adds nothing.
template <class Code>
int64_t accumulate(const QuantizedConv2d& a, const Call& call, const Code* src, int64_t x_zero_point, int64_t n,
                   int64_t o, int64_t oy, int64_t ox) {
  const auto x = call.in[QuantizedConv2d::in::x].dims;
  const auto w = call.in[QuantizedConv2d::in::w].dims;
  const auto* weights = call.in[QuantizedConv2d::in::w].as<const int8_t>();
  const int64_t first_channel = o / (w[0] / a.groups) * w[1];
  int64_t acc = 0;
  for (int64_t i = 0; i < w[1]; ++i) {
    for (int64_t ky = 0; ky < w[2]; ++ky) {
      for (int64_t kx = 0; kx < w[3]; ++kx) {
        const int64_t iy = oy * a.stride[0] + ky * a.dilation[0] - a.pad[0];
        const int64_t ix = ox * a.stride[1] + kx * a.dilation[1] - a.pad[1];
        if (iy < 0 || iy >= x[2] || ix < 0 || ix >= x[3]) continue;
        const int64_t code = src[((n * x[1] + first_channel + i) * x[2] + iy) * x[3] + ix];
        acc += (code - x_zero_point) * weights[((o * w[1] + i) * w[2] + ky) * w[3] + kx];
      }
    }
  }
  return acc;
}

/// Finds the least and largest accumulator of each channel. Runs after all accumulators are stored.
void find_extremes(const Call& call) {
  const View& acc = call.out[QuantizedConv2d::out::acc];
  if (!acc.present()) return;
  const Channels channels = Channels::of(acc.dims, 1);
  auto* low = call.out[QuantizedConv2d::out::extremes].as<int32_t>();
  int32_t* high = low + channels.count;
  std::fill_n(low, 2 * channels.count, 0);
  for (int64_t i = 0; i < acc.size(); ++i) {
    const int64_t channel = i / channels.run % channels.count;
    const bool is_first = i < channels.count * channels.run && i % channels.run == 0;
    const int32_t one = acc.as<const int32_t>()[i];
    low[channel] = is_first ? one : std::min(low[channel], one);
    high[channel] = is_first ? one : std::max(high[channel], one);
  }
}

Plan prepare_conv2d(const Problem& problem) {
  const Dims& out = problem.out[QuantizedConv2d::out::out_]->dims;
  return {.state = std::make_shared<RuleState<QuantizedConv2d>>(problem.attributes), .phases = {out[0] * out[1], 1}};
}

/// Computes one plane of the output.
Status run_conv2d(const Call& call, int phase, int64_t piece) {
  if (phase == 1) {
    find_extremes(call);
    return {};
  }
  const auto& state = state_of<RuleState<QuantizedConv2d>>(call);
  const auto out = call.out[QuantizedConv2d::out::out_].dims;
  const LayerOperands scales(call);
  const int64_t n = piece / out[1];
  const int64_t o = piece % out[1];
  const auto layer =
      arith::EngineLayer::convolution(state.attributes.groups, call.in[QuantizedConv2d::in::w].dims[1], out[1]);
  Channel channel;
  if (Status status = channel.derive(state.rule, scales, layer, o); !status.ok()) return status;
  visit_codes(call.in[QuantizedConv2d::in::x], [&](const auto* src) {
    for (int64_t oy = 0; oy < out[2]; ++oy) {
      for (int64_t ox = 0; ox < out[3]; ++ox) {
        const int64_t sum = accumulate(state.attributes, call, src, scales.x_zero_point, n, o, oy, ox);
        store(call, channel, (piece * out[2] + oy) * out[3] + ox, sum);
      }
    }
  });
  return {};
}

Plan prepare_linear(const Problem& problem) {
  return {.state = std::make_shared<RuleState<QuantizedLinear>>(problem.attributes),
          .phases = {problem.out[QuantizedLinear::out::out_]->dims[1], 1}};
}

/// Computes one output channel.
Status run_linear(const Call& call, int phase, int64_t o) {
  if (phase == 1) {
    find_extremes(call);
    return {};
  }
  const auto& state = state_of<RuleState<QuantizedLinear>>(call);
  const auto out = call.out[QuantizedLinear::out::out_].dims;
  const ConstView& w = call.in[QuantizedLinear::in::w];
  const int64_t inputs = w.dims[1];
  const LayerOperands scales(call);
  Channel channel;
  if (Status status = channel.derive(state.rule, scales, {}, o); !status.ok()) return status;
  visit_codes(call.in[QuantizedLinear::in::x], [&](const auto* src) {
    for (int64_t n = 0; n < out[0]; ++n) {
      int64_t sum = 0;
      for (int64_t i = 0; i < inputs; ++i)
        sum += (int64_t{src[n * inputs + i]} - scales.x_zero_point) * w.as<const int8_t>()[o * inputs + i];
      store(call, channel, n * out[1] + o, sum);
    }
  });
  return {};
}

}  // namespace

extern const Kernel reference_quantized_conv2d{"reference", accept_all, prepare_conv2d, run_conv2d};
extern const Kernel reference_quantized_linear{"reference", accept_all, prepare_linear, run_linear};

}  // namespace halfstep::kernels

// Convolution and matrix product of the integer program as docs/arithmetic.md, section 4, states them.
#include <memory>

#include "halfstep/kernels/codes.h"
#include "halfstep/kernels/integer/step.h"
#include "halfstep/kernels/kernel.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {
namespace {

template <class Typed>
StoredSteps steps_of(const Typed& attributes, const Call& call) {
  const StepForm form = step_form(attributes, call.in[Typed::in::w].dims);
  return stored_steps(form, call.in[step_port(form.form)].size(), [&](int position) { return call.in[position].data; });
}

/// One output code. The accumulator has 32 bits: conversion proves that it fits, and what does not fit wraps around.
template <class Typed>
int32_t code_of(const Typed& attributes, const StoredSteps& steps, int64_t channel, int64_t acc) {
  const arith::Requantizer requantizer = steps.requantizer(channel);
  return clamp_of(attributes)
      .apply(arith::requantize(requantizer, static_cast<int32_t>(acc), static_cast<int32_t>(attributes.y_zero_point)));
}

/// What a channel's accumulators have from the start.
template <class Typed>
int64_t whole_bias(const StoredSteps& steps, const Call& call, int64_t channel) {
  return steps.bias != nullptr ? 0 : call.in[Typed::in::b].template as<const int32_t>()[channel];
}

/// Elements of [n, c, h, w], or of [n, h, w, c] where the channels are the last axis.
struct Images {
  int64_t channels, height, width;
  bool channels_last;

  template <class Typed>
  static Images of(const Dims& dims) {
    if (std::is_same_v<Typed, ChannelsLastIntegerConv2d>) return {dims[3], dims[1], dims[2], true};
    return {dims[1], dims[2], dims[3], false};
  }
  int64_t at(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return channels_last ? ((n * height + y) * width + x) * channels + c
                         : ((n * channels + c) * height + y) * width + x;
  }
};

template <class Typed>
struct ConvState {
  Typed attributes;
  Images x, out;
};

/// sum (x - x_zero_point) * w for one output; padding adds nothing.
template <class Typed, class Code>
int64_t accumulate(const ConvState<Typed>& state, const Call& call, const Code* src, int64_t n, int64_t o, int64_t oy,
                   int64_t ox) {
  const Typed& a = state.attributes;
  const auto w = call.in[Typed::in::w].dims;
  const auto* weights = call.in[Typed::in::w].template as<const int8_t>();
  const int64_t first_channel = o / (w[0] / a.groups) * w[1];
  int64_t acc = 0;
  for (int64_t i = 0; i < w[1]; ++i) {
    for (int64_t ky = 0; ky < w[2]; ++ky) {
      for (int64_t kx = 0; kx < w[3]; ++kx) {
        const int64_t iy = oy * a.stride[0] + ky * a.dilation[0] - a.pad[0];
        const int64_t ix = ox * a.stride[1] + kx * a.dilation[1] - a.pad[1];
        if (iy < 0 || iy >= state.x.height || ix < 0 || ix >= state.x.width) continue;
        const int64_t code = src[state.x.at(n, first_channel + i, iy, ix)];
        acc += (code - a.x_zero_point) * weights[((o * w[1] + i) * w[2] + ky) * w[3] + kx];
      }
    }
  }
  return acc;
}

template <class Typed>
Plan prepare_conv2d(const Problem& problem) {
  const Dims& out = problem.out[Typed::out::out_]->dims;
  auto state = std::make_shared<ConvState<Typed>>(ConvState<Typed>{
      Typed(problem.attributes), Images::of<Typed>(problem.in[Typed::in::x]->dims), Images::of<Typed>(out)});
  const int64_t planes = out[0] * state->out.channels;
  return {.state = std::move(state), .phases = {planes}};
}

/// One plane of the output.
template <class Typed>
Status run_conv2d(const Call& call, int, int64_t piece) {
  const auto& state = state_of<ConvState<Typed>>(call);
  const View& out = call.out[Typed::out::out_];
  const StoredSteps steps = steps_of(state.attributes, call);
  if (Status status = steps.check(state.out.channels); !status.ok()) return status;
  const int64_t n = piece / state.out.channels;
  const int64_t o = piece % state.out.channels;
  const int64_t bias = whole_bias<Typed>(steps, call, o);
  visit_codes(call.in[Typed::in::x], [&](const auto* src) {
    visit_codes(out, [&]<class Code>(Code* dst) {
      for (int64_t oy = 0; oy < state.out.height; ++oy) {
        for (int64_t ox = 0; ox < state.out.width; ++ox) {
          const int64_t acc = accumulate(state, call, src, n, o, oy, ox) + bias;
          dst[state.out.at(n, o, oy, ox)] = static_cast<Code>(code_of(state.attributes, steps, o, acc));
        }
      }
    });
  });
  return {};
}

Plan prepare_linear(const Problem& problem) {
  return {.state = std::make_shared<IntegerLinear>(problem.attributes),
          .phases = {problem.out[IntegerLinear::out::out_]->dims[0]}};
}

/// One row of the output.
Status run_linear(const Call& call, int, int64_t n) {
  const auto& a = state_of<IntegerLinear>(call);
  const View& out = call.out[IntegerLinear::out::out_];
  const ConstView& w = call.in[IntegerLinear::in::w];
  const int64_t inputs = w.dims[1];
  const StoredSteps steps = steps_of(a, call);
  if (Status status = steps.check(out.dims[1]); !status.ok()) return status;
  visit_codes(call.in[IntegerLinear::in::x], [&](const auto* src) {
    visit_codes(out, [&]<class Code>(Code* dst) {
      for (int64_t o = 0; o < out.dims[1]; ++o) {
        int64_t acc = whole_bias<IntegerLinear>(steps, call, o);
        for (int64_t i = 0; i < inputs; ++i)
          acc += (int64_t{src[n * inputs + i]} - a.x_zero_point) * w.as<const int8_t>()[o * inputs + i];
        dst[n * out.dims[1] + o] = static_cast<Code>(code_of(a, steps, o, acc));
      }
    });
  });
  return {};
}

}  // namespace

const Kernel reference_integer_conv2d = {"reference", accept_all, prepare_conv2d<IntegerConv2d>,
                                         run_conv2d<IntegerConv2d>};
const Kernel reference_channels_last_integer_conv2d = {
    "reference", accept_all, prepare_conv2d<ChannelsLastIntegerConv2d>, run_conv2d<ChannelsLastIntegerConv2d>};
const Kernel reference_integer_linear = {"reference", accept_all, prepare_linear, run_linear};

}  // namespace halfstep::kernels

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
  return clamp_of(attributes)
      .apply(steps.scaling(channel).code(static_cast<int32_t>(acc), static_cast<int32_t>(attributes.y_zero_point)));
}

/// What a channel's accumulators have from the start.
template <class Typed>
int64_t whole_bias(const StoredSteps& steps, const Call& call, int64_t channel) {
  return steps.bias != nullptr ? 0 : call.in[Typed::in::b].template as<const int32_t>()[channel];
}

/// sum (x - x_zero_point) * w for one output; padding adds nothing.
template <class Code>
int64_t accumulate(const IntegerConv2d& a, const Call& call, const Code* src, int64_t n, int64_t o, int64_t oy,
                   int64_t ox) {
  const auto x = call.in[IntegerConv2d::in::x].dims;
  const auto w = call.in[IntegerConv2d::in::w].dims;
  const auto* weights = call.in[IntegerConv2d::in::w].as<const int8_t>();
  const int64_t first_channel = o / (w[0] / a.groups) * w[1];
  int64_t acc = 0;
  for (int64_t i = 0; i < w[1]; ++i) {
    for (int64_t ky = 0; ky < w[2]; ++ky) {
      for (int64_t kx = 0; kx < w[3]; ++kx) {
        const int64_t iy = oy * a.stride[0] + ky * a.dilation[0] - a.pad[0];
        const int64_t ix = ox * a.stride[1] + kx * a.dilation[1] - a.pad[1];
        if (iy < 0 || iy >= x[2] || ix < 0 || ix >= x[3]) continue;
        const int64_t code = src[((n * x[1] + first_channel + i) * x[2] + iy) * x[3] + ix];
        acc += (code - a.x_zero_point) * weights[((o * w[1] + i) * w[2] + ky) * w[3] + kx];
      }
    }
  }
  return acc;
}

Plan prepare_conv2d(const Problem& problem) {
  const Dims& out = problem.out[IntegerConv2d::out::out_]->dims;
  return {.state = std::make_shared<IntegerConv2d>(problem.attributes), .phases = {out[0] * out[1]}};
}

/// One plane of the output.
Status run_conv2d(const Call& call, int, int64_t piece) {
  const auto& a = *static_cast<const IntegerConv2d*>(call.state);
  const View& out = call.out[IntegerConv2d::out::out_];
  const StoredSteps steps = steps_of(a, call);
  if (Status status = steps.check(out.dims[1]); !status.ok()) return status;
  const int64_t n = piece / out.dims[1];
  const int64_t o = piece % out.dims[1];
  const int64_t bias = whole_bias<IntegerConv2d>(steps, call, o);
  visit_codes(call.in[IntegerConv2d::in::x], [&](const auto* src) {
    visit_codes(out, [&]<class Code>(Code* dst) {
      for (int64_t oy = 0; oy < out.dims[2]; ++oy) {
        for (int64_t ox = 0; ox < out.dims[3]; ++ox) {
          const int64_t acc = accumulate(a, call, src, n, o, oy, ox) + bias;
          dst[(piece * out.dims[2] + oy) * out.dims[3] + ox] = static_cast<Code>(code_of(a, steps, o, acc));
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
  const auto& a = *static_cast<const IntegerLinear*>(call.state);
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

const Kernel reference_integer_conv2d = {"reference", accept_all, prepare_conv2d, run_conv2d};
const Kernel reference_integer_linear = {"reference", accept_all, prepare_linear, run_linear};

}  // namespace halfstep::kernels

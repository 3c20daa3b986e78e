// Reference kernels of convolution and matrix product in the integer program (docs/arithmetic.md, section 4).
#include <memory>

#include "halfstep/engine/kernels/codes/integer/step.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/image/conv/window.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

template <class Typed>
StoredSteps steps_of(const Typed& attributes, const Call& call) {
  const StepForm form = step_form(attributes, call.in[Typed::in::w].dims);
  return stored_steps(form, call.in[step_port(form.form)].size(), [&](int position) { return call.in[position].data; });
}

/// One output code. The accumulator has 32 bits and wraps around. Conversion proves that it does not overflow.
template <class Typed>
int32_t code_of(const Typed& attributes, const StoredSteps& steps, int64_t channel, int64_t acc) {
  const arith::Requantizer requantizer = steps.requantizer(channel);
  return clamp_of(attributes)
      .apply(arith::requantize(requantizer, static_cast<int32_t>(acc), static_cast<int32_t>(attributes.y_zero_point)));
}

/// Initial value of a channel's accumulators.
template <class Typed>
int64_t whole_bias(const StoredSteps& steps, const Call& call, int64_t channel) {
  return steps.bias != nullptr ? 0 : call.in[Typed::in::b].template as<const int32_t>()[channel];
}

struct ConvState {
  IntegerConv2d attributes;
  ConvWindow window;
};

Plan prepare_conv2d(const Problem& problem) {
  const IntegerConv2d a(problem.attributes);
  const auto g = ConvWindow::of(a, problem.in[IntegerConv2d::in::x]->dims, problem.in[IntegerConv2d::in::w]->dims,
                                problem.out[IntegerConv2d::out::out_]->dims);
  return {.state = std::make_shared<ConvState>(a, g),
          .worker_scratch = static_cast<size_t>(g.out_plane()) * sizeof(int64_t),
          .phases = {g.n * g.o}};
}

/// Computes one plane of the output.
Status run_conv2d(const Call& call, int, int64_t piece) {
  using In = IntegerConv2d::in;
  const auto& [a, g] = state_of<ConvState>(call);
  const StoredSteps steps = steps_of(a, call);
  if (Status status = steps.check(g.o); !status.ok()) return status;
  const int64_t n = piece / g.o, o = piece % g.o, bias = whole_bias<IntegerConv2d>(steps, call, o);
  auto* sums = reinterpret_cast<int64_t*>(call.worker_scratch);
  visit_codes(call.in[In::x], [&, &a = a, &g = g](const auto* src) {
    sum_windows(g, src, call.in[In::w].as<const int8_t>(), n, o, sums, a.x_zero_point);
    visit_codes(call.out[IntegerConv2d::out::out_], [&]<class Code>(Code* dst) {
      dst += g.out_order.at(n, o);
      for (int64_t i = 0; i < g.out_plane(); ++i)
        dst[i * g.out_order.place] = static_cast<Code>(code_of(a, steps, o, sums[i] + bias));
    });
  });
  return {};
}

Plan prepare_linear(const Problem& problem) {
  return {.state = std::make_shared<IntegerLinear>(problem.attributes),
          .phases = {problem.out[IntegerLinear::out::out_]->dims[0]}};
}

/// Computes one row of the output.
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

extern const Kernel reference_integer_conv2d{"reference", accept_all, prepare_conv2d, run_conv2d};
extern const Kernel reference_integer_linear{"reference", accept_all, prepare_linear, run_linear};

}  // namespace halfstep::kernels

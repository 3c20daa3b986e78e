// Reference kernels of sum, product, pool and rescaling of codes, in training (docs/arithmetic.md, section 5). `real`
// is computed in float32, left to right.
#include <map>
#include <memory>

#include "halfstep/engine/kernels/codes/average_window.h"
#include "halfstep/engine/kernels/codes/training/operand.h"
#include "halfstep/engine/kernels/codes/training/results.h"
#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

template <class Typed>
Plan prepare_elements(const Problem& problem) {
  return {.state = std::make_shared<RuleState<Typed>>(problem.attributes),
          .phases = {pieces_of(count_elements(problem.out[0]->dims))}};
}

Status run_add(const Call& call, int, int64_t piece) {
  using In = QuantizedAdd::in;
  const auto& state = state_of<RuleState<QuantizedAdd>>(call);
  const Operand a(call, In::a, In::a_scale, In::a_zero_point);
  const Operand b(call, In::b, In::b_scale, In::b_zero_point);
  const Target<QuantizedAdd> y(call, state.rule);
  arith::SumRequantizer requantizer;
  const float sign = state.attributes.subtract ? -1.0F : 1.0F;
  const arith::SumScales scales{a.scale, sign * b.scale, y.scale, a.zero_point, b.zero_point, y.zero_point};
  if (Status status = state.rule.for_sum(scales, requantizer); !status.ok()) return status;
  std::visit(
      [&](const auto& sum) {
        const CodeReader a_codes(a.view), b_codes(b.view);
        const auto out = call.out[QuantizedAdd::out::out_].dims;
        const auto element = [&](int64_t i) -> Requantized {
          const int32_t a_code = a_codes[broadcast_index(a.view.dims, out, i)];
          const int32_t b_code = b_codes[broadcast_index(b.view.dims, out, i)];
          return {sum.code(a_code, b_code), a.real(a_code) + sign * b.real(b_code)};
        };
        store_piece(call, piece, element, [&](int64_t code) { return y.clamp(code); });
      },
      requantizer);
  return {};
}

Status run_mul(const Call& call, int, int64_t piece) {
  using In = QuantizedMul::in;
  const auto& state = state_of<RuleState<QuantizedMul>>(call);
  const Operand a(call, In::a, In::a_scale, In::a_zero_point);
  const Operand b(call, In::b, In::b_scale, In::b_zero_point);
  const Target<QuantizedMul> y(call, state.rule);
  arith::Requantizer requantizer;
  if (Status status = state.rule.for_product(a.scale, b.scale, y.scale, requantizer); !status.ok()) return status;
  const auto out = call.out[QuantizedMul::out::out_].dims;
  const CodeReader a_codes(a.view), b_codes(b.view);
  const auto element = [&](int64_t i) -> Requantized {
    const int64_t a_code = a_codes[broadcast_index(a.view.dims, out, i)];
    const int64_t b_code = b_codes[broadcast_index(b.view.dims, out, i)];
    const int64_t acc = a.steps(a_code) * b.steps(b_code);
    return {arith::requantize(requantizer, acc, y.zero_point), a.real(a_code) * b.real(b_code)};
  };
  store_piece(call, piece, element, [&](int64_t code) { return y.clamp(code); });
  return {};
}

Status run_avg_pool2d(const Call& call, int, int64_t piece) {
  using In = QuantizedAvgPool2d::in;
  const auto& state = state_of<RuleState<QuantizedAvgPool2d>>(call);
  const Operand x(call, In::x, In::x_scale, In::x_zero_point);
  const Target<QuantizedAvgPool2d> y(call, state.rule);
  const auto window = AverageWindow::of(state.attributes, x.view.dims, call.out[QuantizedAvgPool2d::out::out_].dims);
  std::map<int64_t, arith::Requantizer> requantizers;  // by the divisor of a window
  for (const int64_t count : window.divisors()) {
    Status status = state.rule.for_pool(x.scale, y.scale, count, requantizers[count]);
    if (!status.ok()) return status;
  }
  const bool adds_floats = arith::traits(state.rule.form).adds_floats && !window.covers_image();
  const FloatMean mean{x.scale, y.scale, x.zero_point, y.zero_point};
  visit_codes(x.view, [&](const auto* codes) {
    const auto element = [&](int64_t i) -> Requantized {
      if (adds_floats) {
        const float real = mean.of(window, codes, i);
        return {mean.code(real), real};
      }
      int64_t sum = 0;
      const int64_t count = window.divisor(window.visit(i, [&](int64_t k) { sum += x.steps(codes[k]); }));
      return {arith::requantize(requantizers.at(count), sum, y.zero_point),
              static_cast<float>(sum) * x.scale / static_cast<float>(count)};
    };
    store_piece(call, piece, element, [&](int64_t code) { return y.clamp(code); });
  });
  return {};
}

Status run_rescale(const Call& call, int, int64_t piece) {
  using In = QuantizedRescale::in;
  const auto& state = state_of<RuleState<QuantizedRescale>>(call);
  const Operand x(call, In::x, In::x_scale, In::x_zero_point);
  const Target<QuantizedRescale> y(call, state.rule);
  arith::Requantizer requantizer;
  if (Status status = state.rule.for_rescale(x.scale, y.scale, requantizer); !status.ok()) return status;
  visit_codes(x.view, [&](const auto* codes) {
    const auto element = [&](int64_t i) -> Requantized {
      return {arith::requantize(requantizer, x.steps(codes[i]), y.zero_point), x.real(codes[i])};
    };
    store_piece(call, piece, element, [&](int64_t code) { return y.clamp(code); });
  });
  return {};
}

}  // namespace

extern const Kernel reference_quantized_add{"reference", accept_all, prepare_elements<QuantizedAdd>, run_add};
extern const Kernel reference_quantized_mul{"reference", accept_all, prepare_elements<QuantizedMul>, run_mul};
extern const Kernel reference_quantized_avg_pool2d{"reference", accept_all, prepare_elements<QuantizedAvgPool2d>,
                                                   run_avg_pool2d};
extern const Kernel reference_quantized_rescale{"reference", accept_all, prepare_elements<QuantizedRescale>,
                                                run_rescale};

}  // namespace halfstep::kernels

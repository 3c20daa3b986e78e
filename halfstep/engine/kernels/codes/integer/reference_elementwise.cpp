// Reference kernels of elementwise operators and the pool in the integer program (docs/arithmetic.md, section 4).
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/codes/integer/average.h"
#include "halfstep/engine/kernels/codes/integer/pieces.h"
#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

Status run_add(const Call& call, int, int64_t piece) {
  const auto& t = state_of<IntegerAdd>(call);
  std::visit(
      [&](const auto& sum) {
        const ConstView &a_view = call.in[IntegerAdd::in::a], &b_view = call.in[IntegerAdd::in::b];
        const View& out = call.out[IntegerAdd::out::out_];
        const CodeReader a(a_view), b(b_view);
        fill_piece(out, piece, [&](int64_t i) {
          return clamp_of(t).apply(
              sum.code(a[broadcast_index(a_view.dims, out.dims, i)], b[broadcast_index(b_view.dims, out.dims, i)]));
        });
      },
      stored_sum(t));
  return {};
}

Status run_mul(const Call& call, int, int64_t piece) {
  const auto& t = state_of<IntegerMul>(call);
  const arith::Requantizer requantizer = product_requantizer(t);
  const View& out = call.out[IntegerMul::out::out_];
  const ConstView& a_view = call.in[IntegerMul::in::a];
  const ConstView& b_view = call.in[IntegerMul::in::b];
  const CodeReader a(a_view), b(b_view);
  fill_piece(out, piece, [&](int64_t i) {
    const int64_t a_steps = a[broadcast_index(a_view.dims, out.dims, i)] - t.a_zero_point;
    const int64_t b_steps = b[broadcast_index(b_view.dims, out.dims, i)] - t.b_zero_point;
    return requantized(t, requantizer, a_steps * b_steps);
  });
  return {};
}

struct AverageState {
  IntegerAvgPool2d attributes;
  AverageWindow window;
  AverageSteps steps;
};

Verdict accept_average(const Problem& problem) {
  const IntegerAvgPool2d a(problem.attributes);
  return accept_windows(a, window_of(a, problem));
}

Plan prepare_average(const Problem& problem) {
  const IntegerAvgPool2d a(problem.attributes);
  const AverageWindow window = window_of(a, problem);
  return {.state = std::make_shared<AverageState>(a, window, average_steps(a, window.divisors())),
          .phases = {pieces_of(count_elements(problem.out[0]->dims))}};
}

Status run_average(const Call& call, int, int64_t piece) {
  const auto& [t, window, steps] = state_of<AverageState>(call);
  const FloatMean mean{float_of(t.x_scale), float_of(t.y_scale), static_cast<int32_t>(t.x_zero_point),
                       static_cast<int32_t>(t.y_zero_point)};
  const bool adds_floats = arith::traits(form_of(t)).adds_floats && !window.covers_image();
  visit_codes(call.in[IntegerAvgPool2d::in::x], [&, &t = t, &window = window, &steps = steps](const auto* src) {
    fill_piece(call.out[0], piece, [&](int64_t i) {
      if (adds_floats) return clamp_of(t).apply(mean.code(mean.of(window, src, i)));
      int64_t acc = 0;
      const Axes p = window.visit(i, [&](int64_t k) { acc += src[k] - t.x_zero_point; });
      return requantized(t, steps.at(window.divisor(p)), acc);
    });
  });
  return {};
}

Status run_lookup(const Call& call, int, int64_t piece) {
  const ConstView& table = call.in[IntegerLookup::in::table];
  const int64_t first = state_of<IntegerLookup>(call).x_code_min, last = table.size() - 1;
  const CodeReader codes(call.in[IntegerLookup::in::x]), entries(table);
  fill_piece(call.out[IntegerLookup::out::out_], piece,
             [&](int64_t i) { return entries[std::clamp<int64_t>(codes[i] - first, 0, last)]; });
  return {};
}

Status run_rescale(const Call& call, int, int64_t piece) {
  const auto& t = state_of<IntegerRescale>(call);
  const arith::Requantizer requantizer = stored_scale(t.multiplier, t.shift, shift_rounding(t));
  visit_codes(call.in[IntegerRescale::in::x], [&](const auto* src) {
    fill_piece(call.out[IntegerRescale::out::out_], piece,
               [&](int64_t i) { return requantized(t, requantizer, src[i] - t.x_zero_point); });
  });
  return {};
}

}  // namespace

extern const Kernel reference_integer_add{"reference", accept_all, prepare_elements<IntegerAdd>, run_add};
extern const Kernel reference_integer_mul{"reference", accept_all, prepare_elements<IntegerMul>, run_mul};
extern const Kernel reference_integer_avg_pool2d{"reference", accept_average, prepare_average, run_average};
extern const Kernel reference_integer_lookup{"reference", accept_all, prepare_elements<IntegerLookup>, run_lookup};
extern const Kernel reference_integer_rescale{"reference", accept_all, prepare_elements<IntegerRescale>, run_rescale};

}  // namespace halfstep::kernels

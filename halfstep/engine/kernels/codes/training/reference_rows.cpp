// Reference kernels of softmax and normalizations of rows of codes, in training (docs/arithmetic.md, section 5).
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/core/arith/row_norm.h"
#include "halfstep/core/arith/row_softmax.h"
#include "halfstep/engine/kernels/codes/rows.h"
#include "halfstep/engine/kernels/codes/training/operand.h"
#include "halfstep/engine/kernels/codes/training/results.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

template <class Typed>
struct RowState : RuleState<Typed> {
  RowState(const Problem& problem, Rows lie) : RuleState<Typed>(problem.attributes), rows(lie) {}
  Rows rows;
};

Plan prepare_softmax(const Problem& problem) {
  const QuantizedSoftmax a(problem.attributes);
  const Rows rows = Rows::of(problem.in[QuantizedSoftmax::in::x]->dims, a.axis, a.flattened);
  return {.state = std::make_shared<RowState<QuantizedSoftmax>>(problem, rows), .phases = {rows.pieces()}};
}

Status run_softmax(const Call& call, int, int64_t piece) {
  using In = QuantizedSoftmax::in;
  const auto& state = state_of<RowState<QuantizedSoftmax>>(call);
  const Operand x(call, In::x, In::x_scale, In::x_zero_point);
  const Target<QuantizedSoftmax> y(call, state.rule);
  arith::Requantizer factor;
  if (Status status = state.rule.for_quotient(y.scale, factor); !status.ok()) return status;
  const auto& fixed = std::get<arith::FixedScale>(factor);
  const arith::Exponentials exponentials(x.scale);
  visit_codes(x.view, [&](const auto* codes) {
    const Results results(call, [&](int64_t code) { return y.clamp(code); });
    state.rows.for_piece(piece, [&](int64_t row) {
      const auto place = [&](int64_t i) { return state.rows.first(row) + i * state.rows.stride; };
      int32_t largest = INT32_MIN;
      for (int64_t i = 0; i < state.rows.extent; ++i) largest = std::max<int32_t>(largest, codes[place(i)]);
      int64_t sum = 0;
      for (int64_t i = 0; i < state.rows.extent; ++i) sum += exponentials.at(largest - codes[place(i)]);
      const double part = 1.0 / static_cast<double>(sum);
      for (int64_t i = 0; i < state.rows.extent; ++i) {
        const int64_t one = exponentials.at(largest - codes[place(i)]);
        const auto real = static_cast<float>(static_cast<double>(one) * part);
        results.store(place(i), {arith::softmax_code(one, sum, fixed.positive, fixed.rounding, y.zero_point), real});
      }
    });
  });
  return {};
}

template <class Typed>
Plan prepare_norm(const Problem& problem) {
  const Rows rows = Rows::of(problem.in[Typed::in::x]->dims, -1);
  return {.state = std::make_shared<RowState<Typed>>(problem, rows), .phases = {rows.pieces()}};
}

/// Value of a normalized element, computed from the integers in double.
float real_of(const arith::RowRoot& root, int64_t steps, const arith::NormNumbers& numbers, size_t i) {
  const double normal = std::ldexp(static_cast<double>(root.normalized(steps)), -arith::kNormalizedBits);
  const double bias = numbers.bias.empty() ? 0.0 : static_cast<double>(numbers.bias[i]);
  return static_cast<float>(normal * static_cast<double>(numbers.scale[i]) + bias);
}

template <class Typed, bool centered>
Status run_norm(const Call& call, int, int64_t piece) {
  using In = typename Typed::in;
  const auto& state = state_of<RowState<Typed>>(call);
  const Rows& rows = state.rows;
  const Operand x(call, In::x, In::x_scale, In::x_zero_point);
  const Target<Typed> y(call, state.rule);
  const ConstView& scale = call.in[In::scale];
  const arith::NormNumbers numbers{{scale.as<const float>(), static_cast<size_t>(scale.size())},
                                   bias_of<Typed>(call),
                                   state.attributes.epsilon,
                                   x.scale,
                                   y.scale,
                                   is_wide(x.view.dtype) ? 16 : 8};
  arith::RowNorm norm;
  if (Status status = arith::derive(numbers, norm); !status.ok()) return status;
  visit_codes(x.view, [&](const auto* codes) {
    const Results results(call, [&](int64_t code) { return y.clamp(code); });
    rows.for_piece(piece, [&](int64_t row) {
      const int64_t first = row * rows.extent;
      int64_t sum = 0, squares = 0;
      for (int64_t i = first; i < first + rows.extent; ++i) {
        sum += x.steps(codes[i]);
        squares += x.steps(codes[i]) * x.steps(codes[i]);
      }
      const auto root = arith::RowRoot::of(rows.extent, sum, squares, centered, norm.epsilon, norm.guard);
      for (int64_t i = 0; i < rows.extent; ++i) {
        const int64_t steps = x.steps(codes[first + i]);
        const auto at = static_cast<size_t>(i);
        results.store(first + i, {arith::norm_code(root.normalized(steps), norm.factor[at], norm.bias[at], norm.shift,
                                                   state.rule.rounding, y.zero_point),
                                  real_of(root, steps, numbers, at)});
      }
    });
  });
  return {};
}

}  // namespace

extern const Kernel reference_quantized_softmax{"reference", accept_all, prepare_softmax, run_softmax};
extern const Kernel reference_quantized_layer_norm{"reference", accept_all, prepare_norm<QuantizedLayerNorm>,
                                                   run_norm<QuantizedLayerNorm, true>};
extern const Kernel reference_quantized_rms_norm{"reference", accept_all, prepare_norm<QuantizedRmsNorm>,
                                                 run_norm<QuantizedRmsNorm, false>};

}  // namespace halfstep::kernels

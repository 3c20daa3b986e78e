// Reference kernels of products of two values, means over axes and running sums, on codes, in training
// (docs/arithmetic.md, section 5).
#include <memory>

#include "halfstep/engine/kernels/codes/contraction.h"
#include "halfstep/engine/kernels/codes/running_sums.h"
#include "halfstep/engine/kernels/codes/training/operand.h"
#include "halfstep/engine/kernels/codes/training/results.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/reduce/groups.h"

namespace halfstep::kernels {
namespace {

struct MatmulState : RuleState<QuantizedMatmul> {
  explicit MatmulState(const Problem& problem)
      : RuleState(problem.attributes), product(Contraction::of(attributes, problem)) {}
  Contraction product;
};

Verdict accept_matmul(const Problem& problem) {
  return accept_contraction(Contraction::of(QuantizedMatmul(problem.attributes), problem), problem);
}

Plan prepare_matmul(const Problem& problem) {
  auto state = std::make_shared<MatmulState>(problem);
  const int64_t rows = state->product.batches * state->product.rows;
  return {.state = std::move(state), .phases = {rows}};
}

/// Computes one row of the result.
Status run_matmul(const Call& call, int, int64_t row) {
  using In = QuantizedMatmul::in;
  const auto& state = state_of<MatmulState>(call);
  const Contraction& p = state.product;
  const Operand a(call, In::a, In::a_scale, In::a_zero_point);
  const Operand b(call, In::b, In::b_scale, In::b_zero_point);
  const Target<QuantizedMatmul> y(call, state.rule);
  arith::Requantizer requantizer;
  if (Status status = state.rule.for_product(a.scale, b.scale, y.scale, requantizer); !status.ok()) return status;
  const Results results(call, [&](int64_t code) { return y.clamp(code); });
  visit_codes(a.view, [&](const auto* a_codes) {
    visit_codes(b.view, [&](const auto* b_codes) {
      for (int64_t column = 0; column < p.columns; ++column) {
        int64_t acc = 0;
        for (int64_t k = 0; k < p.depth; ++k)
          acc += a.steps(a_codes[p.a_place(row, k)]) * b.steps(b_codes[p.b_place(row, k, column)]);
        const float real = static_cast<float>(acc) * a.scale * b.scale;
        results.store(row * p.columns + column, {arith::requantize(requantizer, acc, y.zero_point), real});
      }
    });
  });
  return {};
}

struct MeanState : RuleState<QuantizedReduceMean> {
  MeanState(const Problem& problem, Groups along) : RuleState(problem.attributes), groups(std::move(along)) {}
  Groups groups;
};

Plan prepare_mean(const Problem& problem) {
  const QuantizedReduceMean a(problem.attributes);
  const Dims& x = problem.in[QuantizedReduceMean::in::x]->dims;
  Groups groups(x, keepdims_extents(x, a.axes));
  const Dims& out = problem.out[QuantizedReduceMean::out::out_]->dims;
  return {.state = std::make_shared<MeanState>(problem, std::move(groups)),
          .scratch = static_cast<size_t>(count_elements(out)) * sizeof(int64_t)};
}

Status run_mean(const Call& call, int, int64_t) {
  using In = QuantizedReduceMean::in;
  const auto& state = state_of<MeanState>(call);
  const Groups& groups = state.groups;
  const Operand x(call, In::x, In::x_scale, In::x_zero_point);
  const Target<QuantizedReduceMean> y(call, state.rule);
  arith::Requantizer requantizer;
  if (groups.results() == 0) return {};
  if (Status status = state.rule.for_pool(x.scale, y.scale, groups.count(), requantizer); !status.ok()) return status;
  auto* sums = reinterpret_cast<int64_t*>(call.scratch);
  visit_codes(x.view,
              [&](const auto* codes) { add_along(groups, sums, [&](int64_t i) { return x.steps(codes[i]); }); });
  const Results results(call, [&](int64_t code) { return y.clamp(code); });
  for (int64_t i = 0; i < groups.results(); ++i) {
    const float real = static_cast<float>(sums[i]) * x.scale / static_cast<float>(groups.count());
    results.store(i, {arith::requantize(requantizer, sums[i], y.zero_point), real});
  }
  return {};
}

struct RunningState : RuleState<QuantizedCumsum> {
  explicit RunningState(const Problem& problem) : RuleState(problem.attributes), sums(problem) {}
  RunningSums<QuantizedCumsum> sums;
};

Plan prepare_running(const Problem& problem) {
  auto state = std::make_shared<RunningState>(problem);
  const int64_t pieces = state->sums.rows.pieces();
  return {.state = std::move(state), .phases = {pieces}};
}

Status run_running(const Call& call, int, int64_t piece) {
  using In = QuantizedCumsum::in;
  const auto& state = state_of<RunningState>(call);
  const Operand x(call, In::x, In::x_scale, In::x_zero_point);
  const Target<QuantizedCumsum> y(call, state.rule);
  arith::Requantizer requantizer;
  if (Status status = state.rule.for_rescale(x.scale, y.scale, requantizer); !status.ok()) return status;
  const Results results(call, [&](int64_t code) { return y.clamp(code); });
  visit_codes(x.view, [&](const auto* codes) {
    state.sums.for_piece(
        piece, [&](int64_t place) { return x.steps(codes[place]); },
        [&](int64_t place, int64_t sum) {
          results.store(place, {arith::requantize(requantizer, sum, y.zero_point), static_cast<float>(sum) * x.scale});
        });
  });
  return {};
}

}  // namespace

extern const Kernel reference_quantized_matmul{"reference", accept_matmul, prepare_matmul, run_matmul};
extern const Kernel reference_quantized_reduce_mean{"reference", accept_all, prepare_mean, run_mean};
extern const Kernel reference_quantized_cumsum{"reference", accept_all, prepare_running, run_running};

}  // namespace halfstep::kernels

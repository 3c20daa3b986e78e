// Reference kernels of softmax, normalizations, products of two values, means and running sums in the integer program
// (docs/arithmetic.md, section 5).
#include <algorithm>
#include <memory>

#include "halfstep/core/arith/row_norm.h"
#include "halfstep/core/arith/row_softmax.h"
#include "halfstep/engine/kernels/codes/contraction.h"
#include "halfstep/engine/kernels/codes/integer/pieces.h"
#include "halfstep/engine/kernels/codes/rows.h"
#include "halfstep/engine/kernels/codes/running_sums.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

template <class Typed>
struct IntegerRows {
  Typed attributes;
  Rows rows;
};

Plan prepare_softmax(const Problem& problem) {
  const IntegerSoftmax a(problem.attributes);
  const Rows rows = Rows::of(problem.in[IntegerSoftmax::in::x]->dims, a.axis, a.flattened);
  return {.state = std::make_shared<IntegerRows<IntegerSoftmax>>(a, rows), .phases = {rows.pieces()}};
}

Status run_softmax(const Call& call, int, int64_t piece) {
  using In = IntegerSoftmax::in;
  const auto& [a, rows] = state_of<IntegerRows<IntegerSoftmax>>(call);
  const auto* fine = call.in[In::fine].as<const int32_t>();
  const auto* coarse = call.in[In::coarse].as<const int32_t>();
  const int64_t last = call.in[In::coarse].size() - 1;
  const auto factor = stored_scale(a.multiplier, a.shift, shift_rounding(a));
  const auto y_zero_point = static_cast<int32_t>(a.y_zero_point);
  visit_codes(call.in[In::x], [&, &a = a, &rows = rows](const auto* src) {
    visit_codes(call.out[0], [&]<class Code>(Code* dst) {
      rows.for_piece(piece, [&](int64_t row) {
        const auto place = [&](int64_t i) { return rows.first(row) + i * rows.stride; };
        int32_t largest = INT32_MIN;
        for (int64_t i = 0; i < rows.extent; ++i) largest = std::max<int32_t>(largest, src[place(i)]);
        const auto exponential = [&](int64_t i) {
          const int32_t steps = largest - src[place(i)];
          return arith::exponential(fine[steps & 255], coarse[std::min<int64_t>(steps >> 8, last)]);
        };
        int64_t sum = 0;
        for (int64_t i = 0; i < rows.extent; ++i) sum += exponential(i);
        sum = std::max<int64_t>(sum, 1);
        for (int64_t i = 0; i < rows.extent; ++i) {
          const int64_t code = arith::softmax_code(exponential(i), sum, factor.positive, factor.rounding, y_zero_point);
          dst[place(i)] = static_cast<Code>(clamp_of(a).apply(code));
        }
      });
    });
  });
  return {};
}

Plan prepare_norm(const Problem& problem) {
  const Rows rows = Rows::of(problem.in[IntegerNorm::in::x]->dims, -1);
  return {.state = std::make_shared<IntegerRows<IntegerNorm>>(IntegerNorm(problem.attributes), rows),
          .phases = {rows.pieces()}};
}

Status run_norm(const Call& call, int, int64_t piece) {
  using In = IntegerNorm::in;
  const auto& [a, rows] = state_of<IntegerRows<IntegerNorm>>(call);
  const auto* factor = call.in[In::factor].as<const int32_t>();
  const auto* bias = call.in[In::bias].as<const int64_t>();
  const auto rounding = shift_rounding(a);
  const auto shift = static_cast<int32_t>(a.shift), y_zero_point = static_cast<int32_t>(a.y_zero_point);
  visit_codes(call.in[In::x], [&, &a = a, &rows = rows](const auto* src) {
    visit_codes(call.out[0], [&]<class Code>(Code* dst) {
      rows.for_piece(piece, [&](int64_t row) {
        const auto* x = src + row * rows.extent;
        int64_t sum = 0, squares = 0;
        for (int64_t i = 0; i < rows.extent; ++i) {
          const int64_t steps = x[i] - a.x_zero_point;
          sum += steps;
          squares += steps * steps;
        }
        const auto root =
            arith::RowRoot::of(rows.extent, sum, squares, a.centered, a.epsilon, static_cast<int32_t>(a.guard));
        for (int64_t i = 0; i < rows.extent; ++i) {
          const int64_t normalized = root.normalized(x[i] - a.x_zero_point);
          const int64_t code = arith::norm_code(normalized, factor[i], bias[i], shift, rounding, y_zero_point);
          dst[row * rows.extent + i] = static_cast<Code>(clamp_of(a).apply(code));
        }
      });
    });
  });
  return {};
}

template <class Typed>
struct IntegerProduct {
  Typed attributes;
  Contraction product;
};

template <class Typed>
Verdict accept_matmul(const Problem& problem) {
  return accept_contraction(Contraction::of(Typed(problem.attributes), problem), problem);
}

template <class Typed>
Plan prepare_matmul(const Problem& problem) {
  const Typed a(problem.attributes);
  const auto product = Contraction::of(a, problem);
  return {.state = std::make_shared<IntegerProduct<Typed>>(a, product), .phases = {product.batches * product.rows}};
}

/// Computes one row of the result.
template <class Typed>
Status run_matmul(const Call& call, int, int64_t row) {
  const auto& [t, p] = state_of<IntegerProduct<Typed>>(call);
  const arith::Requantizer requantizer(stored_scale(t.multiplier, t.shift, shift_rounding(t)));
  const CodeReader a(call.in[Typed::in::a]), b(call.in[Typed::in::b]);
  visit_codes(call.out[0], [&, &t = t, &p = p]<class Code>(Code* dst) {
    for (int64_t column = 0; column < p.columns; ++column) {
      int64_t acc = 0;
      for (int64_t k = 0; k < p.depth; ++k)
        acc += (a[p.a_place(row, k)] - t.a_zero_point) * (b[p.b_place(row, k, column)] - t.b_zero_point);
      dst[p.out_place(row) + column] = static_cast<Code>(requantized(t, requantizer, acc));
    }
  });
  return {};
}

struct IntegerMean {
  IntegerReduceMean attributes;
  Groups groups;
};

Plan prepare_mean(const Problem& problem) {
  const IntegerReduceMean a(problem.attributes);
  const Dims& x = problem.in[IntegerReduceMean::in::x]->dims;
  const Groups groups(x, keepdims_extents(x, a.axes));
  return {.state = std::make_shared<IntegerMean>(a, groups),
          .scratch = static_cast<size_t>(groups.results()) * sizeof(int64_t)};
}

Status run_mean(const Call& call, int, int64_t) {
  const auto& [t, groups] = state_of<IntegerMean>(call);
  const arith::Requantizer requantizer = stored_scale(t.multiplier, t.shift, shift_rounding(t));
  auto* sums = reinterpret_cast<int64_t*>(call.scratch);
  visit_codes(call.in[IntegerReduceMean::in::x], [&, &t = t, &groups = groups](const auto* src) {
    add_along(groups, sums, [&](int64_t i) { return src[i] - t.x_zero_point; });
  });
  visit_codes(call.out[0], [&, &t = t, &groups = groups]<class Code>(Code* dst) {
    for (int64_t i = 0; i < groups.results(); ++i) dst[i] = static_cast<Code>(requantized(t, requantizer, sums[i]));
  });
  return {};
}

Plan prepare_running(const Problem& problem) {
  auto state = std::make_shared<RunningSums<IntegerCumsum>>(problem);
  const int64_t pieces = state->rows.pieces();
  return {.state = std::move(state), .phases = {pieces}};
}

Status run_running(const Call& call, int, int64_t piece) {
  const auto& sums = state_of<RunningSums<IntegerCumsum>>(call);
  const IntegerCumsum& t = sums.attributes;
  const arith::Requantizer requantizer = stored_scale(t.multiplier, t.shift, shift_rounding(t));
  visit_codes(call.in[IntegerCumsum::in::x], [&](const auto* src) {
    visit_codes(call.out[0], [&]<class Code>(Code* dst) {
      sums.for_piece(
          piece, [&](int64_t place) { return src[place] - t.x_zero_point; },
          [&](int64_t place, int64_t sum) { dst[place] = static_cast<Code>(requantized(t, requantizer, sum)); });
    });
  });
  return {};
}

}  // namespace

extern const Kernel reference_integer_softmax{"reference", accept_all, prepare_softmax, run_softmax};
extern const Kernel reference_integer_norm{"reference", accept_all, prepare_norm, run_norm};
extern const Kernel reference_integer_matmul{"reference", accept_matmul<IntegerMatmul>, prepare_matmul<IntegerMatmul>,
                                             run_matmul<IntegerMatmul>};
extern const Kernel reference_fused_integer_matmul{"reference", accept_matmul<FusedIntegerMatmul>,
                                                   prepare_matmul<FusedIntegerMatmul>, run_matmul<FusedIntegerMatmul>};
extern const Kernel reference_integer_reduce_mean{"reference", accept_all, prepare_mean, run_mean};
extern const Kernel reference_integer_cumsum{"reference", accept_all, prepare_running, run_running};

}  // namespace halfstep::kernels

// Operators along one axis: positions of extremes, running sums, the k largest.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

constexpr int64_t kPiece = 16384;

template <class Typed>
struct AlongState {
  Axis axis;
  Typed attributes;

  int64_t lines_per_piece() const { return std::max<int64_t>(1, kPiece / std::max<int64_t>(1, axis.extent)); }
  int64_t pieces() const { return ceil_div(axis.lines(), lines_per_piece()); }
};

template <class Typed>
Plan prepare_along(const Problem& problem) {
  const Typed a(problem.attributes);
  auto state = std::make_shared<AlongState<Typed>>(Axis(problem.in[0]->dims, a.axis), a);
  const int64_t pieces = state->pieces();
  size_t scratch = 0;
  if constexpr (requires { a.largest_; }) scratch = static_cast<size_t>(state->axis.extent) * sizeof(int64_t);
  return {.state = std::move(state), .worker_scratch = scratch, .phases = {pieces}};
}

/// Calls visit(line) for the lines of a piece.
template <class State, class Visit>
void for_each_line(const State& state, int64_t piece, const Visit& visit) {
  const int64_t step = state.lines_per_piece(), end = std::min(state.axis.lines(), (piece + 1) * step);
  for (int64_t line = piece * step; line < end; ++line) visit(line);
}

/// Whether a comes before b in a search for the largest or smallest element. NaN comes before every number.
template <bool largest, class W>
bool ahead(W a, W b) {
  return (largest ? a > b : a < b) || (a != a && b == b);
}

template <class Typed, bool largest>
Status run_extreme_place(const Call& call, int, int64_t piece) {
  const auto& state = state_of<AlongState<Typed>>(call);
  const bool last = state.attributes.select_last_index;
  with_number(call.in[0].dtype, [&]<class T>() {
    for_each_line(state, piece, [&](int64_t line) {
      const T* src = call.in[0].as<const T>() + state.axis.begin(line);
      int64_t best = 0;
      for (int64_t i = 1; i < state.axis.extent; ++i) {
        const auto value = widen(src[i * state.axis.inner]), so_far = widen(src[best * state.axis.inner]);
        if (last ? !ahead<largest>(so_far, value) : ahead<largest>(value, so_far)) best = i;
      }
      call.out[0].as<int64_t>()[line] = best;
    });
  });
  return {};
}

/// Floats are kept in double and rounded at each store.
template <class Typed, bool product>
Status run_cumulative(const Call& call, int, int64_t piece) {
  const auto& state = state_of<AlongState<Typed>>(call);
  const auto& a = state.attributes;
  with_number(call.out[0].dtype, [&]<class T>() {
    using Total = std::conditional_t<kIsFloat<T>, double, uint64_t>;
    for_each_line(state, piece, [&](int64_t line) {
      const int64_t begin = state.axis.begin(line), extent = state.axis.extent;
      Total total = product ? 1 : 0;
      for (int64_t i = 0; i < extent; ++i) {
        const int64_t at = begin + (a.reverse ? extent - 1 - i : i) * state.axis.inner;
        Total value;
        if constexpr (kIsFloat<T>) {
          value = to_double(call.in[0].as<const T>()[at]);
        } else {
          value = static_cast<uint64_t>(call.in[0].as<const T>()[at]);
        }
        const Total next = product ? total * value : total + value;
        T& dst = call.out[0].as<T>()[at];
        if constexpr (kIsFloat<T>) {
          dst = from_double<T>(a.exclusive ? total : next);
        } else {
          dst = static_cast<T>(a.exclusive ? total : next);
        }
        total = next;
      }
    });
  });
  return {};
}

Plan prepare_cumprod_grad(const Problem& problem) {
  Plan plan = prepare_along<CumprodGrad>(problem);
  const Axis axis(problem.in[0]->dims, CumprodGrad(problem.attributes).axis);
  plan.worker_scratch = static_cast<size_t>(axis.extent) * sizeof(double);
  return plan;
}

/// Goes back through the running products, with the gradient of the product up to each element.
Status run_cumprod_grad(const Call& call, int, int64_t piece) {
  using In = CumprodGrad::in;
  const auto& [axis, a] = state_of<AlongState<CumprodGrad>>(call);
  with_any_float(call.out[0].dtype, [&, &axis = axis, &a = a]<class T>() {
    const T *x = call.in[In::x].as<const T>(), *out_grad = call.in[In::out_grad].as<const T>();
    auto* before = reinterpret_cast<double*>(call.worker_scratch);
    for_each_line(state_of<AlongState<CumprodGrad>>(call), piece, [&](int64_t line) {
      const auto place = [&](int64_t i) {
        return axis.begin(line) + (a.reverse ? axis.extent - 1 - i : i) * axis.inner;
      };
      double product = 1, grad = 0;
      for (int64_t i = 0; i < axis.extent; ++i) {
        before[i] = product;
        product *= to_double(x[place(i)]);
      }
      for (int64_t i = axis.extent; i-- > 0;) {
        const double own = to_double(out_grad[place(i)]);
        if (!a.exclusive) grad += own;
        call.out[0].as<T>()[place(i)] = from_double<T>(grad * before[i]);
        grad = grad * to_double(x[place(i)]) + (a.exclusive ? own : 0);
      }
    });
  });
  return {};
}

Status run_top_k(const Call& call, int, int64_t piece) {
  const auto& state = state_of<AlongState<TopK>>(call);
  const auto& [axis, a] = state;
  with_number(call.in[0].dtype, [&]<class T>() {
    auto* order = reinterpret_cast<int64_t*>(call.worker_scratch);
    for_each_line(state, piece, [&](int64_t line) {
      const T* src = call.in[0].as<const T>() + axis.begin(line);
      for (int64_t i = 0; i < axis.extent; ++i) order[i] = i;
      const auto comes_first = [&](int64_t left, int64_t right) {
        const auto l = widen(src[left * axis.inner]), r = widen(src[right * axis.inner]);
        // NaN counts as the largest, so it is last among the smallest.
        const bool before = a.largest_ ? ahead<true>(l, r) : l < r || (l == l && r != r);
        const bool after = a.largest_ ? ahead<true>(r, l) : r < l || (r == r && l != l);
        return before || (!after && left < right);
      };
      std::partial_sort(order, order + a.k, order + axis.extent, comes_first);
      const int64_t begin = line / axis.inner * a.k * axis.inner + line % axis.inner;
      for (int64_t i = 0; i < a.k; ++i) {
        call.out[TopK::out::values].as<T>()[begin + i * axis.inner] = src[order[i] * axis.inner];
        call.out[TopK::out::indices].as<int64_t>()[begin + i * axis.inner] = order[i];
      }
    });
  });
  return {};
}

}  // namespace

extern const Kernel reference_arg_max{"reference", accept_all, prepare_along<ArgMax>, run_extreme_place<ArgMax, true>};
extern const Kernel reference_arg_min{"reference", accept_all, prepare_along<ArgMin>, run_extreme_place<ArgMin, false>};
extern const Kernel reference_cumsum{"reference", accept_all, prepare_along<Cumsum>, run_cumulative<Cumsum, false>};
extern const Kernel reference_cumprod{"reference", accept_all, prepare_along<Cumprod>, run_cumulative<Cumprod, true>};
extern const Kernel reference_cumprod_grad{"reference", accept_all, prepare_cumprod_grad, run_cumprod_grad};
extern const Kernel reference_top_k{"reference", accept_all, prepare_along<TopK>, run_top_k};

}  // namespace halfstep::kernels

// Gradients of reductions. Broadcasting maps every element of x to its result.
#include <memory>

#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/reduce/axes.h"
#include "halfstep/engine/kernels/reduce/groups.h"

namespace halfstep::kernels {
namespace {

struct ReducedState {
  Dims x, kept;
  int64_t results, count;  ///< number of results, elements of x for each

  int64_t result_of(int64_t element) const { return broadcast_index(kept, x, element); }
};

template <class Typed>
ReducedState reduced_state(const Problem& problem) {
  const Dims& x = problem.in[Typed::in::x]->dims;
  const Dims kept = kept_extents(x, Typed(problem.attributes));
  return {x, kept, count_elements(kept), Groups(x, kept).count()};
}

struct RepeatState {
  Groups groups;
  bool mean;
};

Plan prepare_reduce_grad(const Problem& problem) {
  const ReduceGrad a(problem.attributes);
  const Dims& x = problem.in[ReduceGrad::in::x]->dims;
  auto state = std::make_shared<RepeatState>(Groups(x, kept_extents(x, a)), a.mean);
  const int64_t pieces = state->groups.pieces();
  return {.state = std::move(state), .phases = {pieces}};
}

Status run_reduce_grad(const Call& call, int, int64_t piece) {
  const auto& [groups, mean] = state_of<RepeatState>(call);
  const auto count = mean ? groups.count() : 1;
  with_any_float(call.out[0].dtype, [&, &groups = groups]<class T>() {
    const T* out_grad = call.in[ReduceGrad::in::out_grad].as<const T>();
    T* dst = call.out[0].as<T>();
    const auto share = [&](int64_t result) {
      return narrow<T>(widen(out_grad[result]) / static_cast<Compute<T>>(count));
    };
    groups.for_each_run(piece, [&](int64_t at, int64_t result, int64_t size, bool is_one) {
      if (is_one) return static_cast<void>(std::fill_n(dst + at, size, share(result)));
      for (int64_t i = 0; i < size; ++i) dst[at + i] = share(result + i);
    });
  });
  return {};
}

Plan prepare_extreme_grad(const Problem& problem) {
  auto state = std::make_shared<ReducedState>(reduced_state<ReduceExtremeGrad>(problem));
  const auto scratch = static_cast<size_t>(state->results) * sizeof(int64_t);
  return {.state = std::move(state), .scratch = scratch};
}

/// Counts first how many elements equal the result.
Status run_extreme_grad(const Call& call, int, int64_t) {
  using In = ReduceExtremeGrad::in;
  const auto& state = state_of<ReducedState>(call);
  auto* ties = reinterpret_cast<int64_t*>(call.scratch);
  std::fill_n(ties, state.results, int64_t{0});
  const int64_t size = call.out[0].size();
  with_plain(call.in[In::x].dtype, [&]<class X>() {
    const X *x = call.in[In::x].as<const X>(), *out = call.in[In::out].as<const X>();
    const auto is_result = [&](int64_t i, int64_t result) { return widen(x[i]) == widen(out[result]); };
    for (int64_t i = 0; i < size; ++i) ties[state.result_of(i)] += is_result(i, state.result_of(i)) ? 1 : 0;
    with_any_float(call.out[0].dtype, [&]<class T>() {
      const T* out_grad = call.in[In::out_grad].as<const T>();
      for (int64_t i = 0; i < size; ++i) {
        const int64_t result = state.result_of(i);
        const auto share = widen(out_grad[result]) / static_cast<Compute<T>>(std::max<int64_t>(1, ties[result]));
        call.out[0].as<T>()[i] = is_result(i, result) ? narrow<T>(share) : T(0);
      }
    });
  });
  return {};
}

/// Scratch: a running product for each result, and for each element the product of those before it.
Plan prepare_prod_grad(const Problem& problem) {
  auto state = std::make_shared<ReducedState>(reduced_state<ReduceProdGrad>(problem));
  const auto scratch = static_cast<size_t>(state->results + count_elements(state->x)) * sizeof(double);
  return {.state = std::move(state), .scratch = scratch};
}

/// The gradient of an element is that of its result, times the product of the other elements.
Status run_prod_grad(const Call& call, int, int64_t) {
  using In = ReduceProdGrad::in;
  const auto& state = state_of<ReducedState>(call);
  auto* products = reinterpret_cast<double*>(call.scratch);
  double* before = products + state.results;
  const int64_t size = call.out[0].size();
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T *x = call.in[In::x].as<const T>(), *out_grad = call.in[In::out_grad].as<const T>();
    std::fill_n(products, state.results, 1.0);
    for (int64_t i = 0; i < size; ++i) {
      double& product = products[state.result_of(i)];
      before[i] = product;
      product *= to_double(x[i]);
    }
    std::fill_n(products, state.results, 1.0);
    for (int64_t i = size; i-- > 0;) {
      const int64_t result = state.result_of(i);
      call.out[0].as<T>()[i] = from_double<T>(to_double(out_grad[result]) * before[i] * products[result]);
      products[result] *= to_double(x[i]);
    }
  });
  return {};
}

}  // namespace

extern const Kernel reference_reduce_grad{"reference", accept_all, prepare_reduce_grad, run_reduce_grad};
extern const Kernel reference_reduce_extreme_grad{"reference", accept_all, prepare_extreme_grad, run_extreme_grad};
extern const Kernel reference_reduce_prod_grad{"reference", accept_all, prepare_prod_grad, run_prod_grad};

}  // namespace halfstep::kernels

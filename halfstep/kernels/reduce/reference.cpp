// Reductions. Each sum is in double, in the order of memory, rounded once.
#include <memory>

#include "halfstep/kernels/broadcast.h"
#include "halfstep/kernels/float_types.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/reduce/axes.h"

namespace halfstep::kernels {
namespace {

struct ReduceState {
  Dims x;
  Dims kept;  ///< extents of the sums: those of x, or 1, or missing in front
  bool mean = false;
  int64_t count = 1;  ///< elements of x for each sum
  int64_t sums = 1;
};

std::shared_ptr<const ReduceState> state_for(const Dims& x, Dims kept, bool mean) {
  const int64_t sums = count_elements(kept), elements = count_elements(x);
  return std::make_shared<ReduceState>(x, std::move(kept), mean, sums == 0 ? 1 : elements / sums, sums);
}

Plan plan_sums(std::shared_ptr<const ReduceState> state) {
  const auto scratch = static_cast<size_t>(state->sums) * sizeof(double);
  return {.state = std::move(state), .scratch = scratch};
}

template <class Typed>
Plan prepare_reduce(const Problem& problem) {
  const Dims& x = problem.in[Typed::in::x]->dims;
  return plan_sums(state_for(x, kept_dims(x, Typed(problem.attributes).axes), std::is_same_v<Typed, ReduceMean>));
}

Plan prepare_sum_to(const Problem& problem) {
  return plan_sums(state_for(problem.in[SumTo::in::x]->dims, problem.out[0]->dims, false));
}

Status run_sums(const Call& call, int, int64_t) {
  const auto& state = state_of<ReduceState>(call);
  auto* sums = reinterpret_cast<double*>(call.scratch);
  std::fill_n(sums, state.sums, 0.0);
  with_float(call.out[0].dtype, [&]<class T>() {
    const T* src = call.in[0].as<const T>();
    const int64_t size = call.in[0].size();
    for (int64_t i = 0; i < size; ++i) sums[broadcast_index(state.kept, state.x, i)] += double{src[i]};
    T* dst = call.out[0].as<T>();
    const double divisor = state.mean ? static_cast<double>(state.count) : 1.0;
    for (int64_t i = 0; i < state.sums; ++i) dst[i] = static_cast<T>(sums[i] / divisor);
  });
  return {};
}

Plan prepare_grad(const Problem& problem) {
  const ReduceGrad a(problem.attributes);
  const Dims& x = problem.in[ReduceGrad::in::x]->dims;
  return {.state = state_for(x, kept_dims(x, a.axes), a.mean)};
}

Status run_grad(const Call& call, int, int64_t) {
  const auto& state = state_of<ReduceState>(call);
  with_float(call.out[0].dtype, [&]<class T>() {
    const T* out_grad = call.in[ReduceGrad::in::out_grad].as<const T>();
    T* dst = call.out[0].as<T>();
    const T divisor = state.mean ? static_cast<T>(state.count) : T(1);
    const int64_t size = call.out[0].size();
    for (int64_t i = 0; i < size; ++i) dst[i] = out_grad[broadcast_index(state.kept, state.x, i)] / divisor;
  });
  return {};
}

}  // namespace

extern const Kernel reference_reduce_sum{"reference", accept_f32_f64, prepare_reduce<ReduceSum>, run_sums};
extern const Kernel reference_reduce_mean{"reference", accept_f32_f64, prepare_reduce<ReduceMean>, run_sums};
extern const Kernel reference_reduce_grad{"reference", accept_f32_f64, prepare_grad, run_grad};
extern const Kernel reference_sum_to{"reference", accept_f32_f64, prepare_sum_to, run_sums};

}  // namespace halfstep::kernels

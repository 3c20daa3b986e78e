// max_unpool, which writes elements to the positions from which max_pool took them, and its gradient.
#include <fmt/format.h>

#include <memory>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

struct UnpoolState {
  Dims pooled;  ///< extents to which the indices refer
  Dims out;
};

/// The state for results from `x` elements, with the attributes of max_unpool.
std::shared_ptr<const UnpoolState> unpool_state(const Problem& problem, const Dims& x, const Dims& out) {
  const MaxUnpool a(problem.attributes);
  Dims pooled = {x[0], x[1]};
  const size_t spatial = a.kernel.size();
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t padding = a.pad.empty() ? 0 : a.pad[i] + a.pad[spatial + i];
    pooled.push_back((x[2 + i] - 1) * (a.stride.empty() ? 1 : a.stride[i]) - padding + a.kernel[i]);
  }
  return std::make_shared<UnpoolState>(std::move(pooled), out);
}

Plan prepare_unpool(const Problem& problem) {
  return {.state = unpool_state(problem, problem.in[0]->dims, problem.out[0]->dims)};
}

Plan prepare_grad(const Problem& problem) {
  const Dims& unpooled = problem.in[MaxUnpoolGrad::in::out_grad]->dims;
  return {.state = unpool_state(problem, problem.out[0]->dims, unpooled),
          .scratch = static_cast<size_t>(count_elements(unpooled)) * sizeof(int64_t)};
}

/// Converts a flat position in `from` to one in `to`, or returns -1 if it is outside of `to`.
int64_t moved_place(int64_t place, const Dims& from, const Dims& to) {
  int64_t moved = 0, stride = 1;
  for (size_t i = from.size(); i-- > 0;) {
    const int64_t at = place % from[i];
    if (at >= to[i]) return -1;
    moved += at * stride;
    stride *= to[i];
    place /= from[i];
  }
  return place == 0 ? moved : -1;
}

Status check_indices(const UnpoolState& state, const int64_t* indices, int64_t count) {
  const int64_t limit = count_elements(state.pooled);
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < 0 || indices[i] >= limit || moved_place(indices[i], state.pooled, state.out) < 0)
      return Status(
          errors::operand_index_out_of_range(fmt::format("index {}", i), indices[i], "a position in the result"));
  }
  return {};
}

Status run_unpool(const Call& call, int, int64_t) {
  const auto& state = state_of<UnpoolState>(call);
  const int64_t* indices = call.in[MaxUnpool::in::indices].as<const int64_t>();
  const int64_t count = call.in[0].size();
  if (Status status = check_indices(state, indices, count); !status.ok()) return status;
  with_number(call.out[0].dtype, [&]<class T>() {
    T* dst = call.out[0].as<T>();
    std::fill_n(dst, call.out[0].size(), static_cast<T>(Wide<T>(0)));
    for (int64_t i = 0; i < count; ++i)
      dst[moved_place(indices[i], state.pooled, state.out)] = call.in[0].as<const T>()[i];
  });
  return {};
}

/// Only the last element that max_unpool writes to a position is in its result.
Status run_grad(const Call& call, int, int64_t) {
  const auto& state = state_of<UnpoolState>(call);
  const int64_t* indices = call.in[MaxUnpoolGrad::in::indices].as<const int64_t>();
  const int64_t count = call.out[0].size();
  if (Status status = check_indices(state, indices, count); !status.ok()) return status;
  auto* last = reinterpret_cast<int64_t*>(call.scratch);
  for (int64_t i = 0; i < count; ++i) last[moved_place(indices[i], state.pooled, state.out)] = i;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* out_grad = call.in[MaxUnpoolGrad::in::out_grad].as<const T>();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = moved_place(indices[i], state.pooled, state.out);
      call.out[0].as<T>()[i] = last[place] == i ? out_grad[place] : T(0);
    }
  });
  return {};
}

}  // namespace

extern const Kernel reference_max_unpool{"reference", accept_all, prepare_unpool, run_unpool};
extern const Kernel reference_max_unpool_grad{"reference", accept_all, prepare_grad, run_grad};

}  // namespace halfstep::kernels

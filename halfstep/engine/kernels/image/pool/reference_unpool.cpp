// max_unpool, which writes elements to the positions from which max_pool took them, and its gradient.
#include <fmt/format.h>

#include <memory>

#include "halfstep/core/base/unpooling.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// The positions for results from `x` elements, with the attributes of max_unpool.
std::shared_ptr<const Unpooling> unpooling_of(const Problem& problem, const Dims& x, const Dims& out) {
  const MaxUnpool a(problem.attributes);
  return std::make_shared<Unpooling>(x, a.kernel, a.stride, a.pad, out);
}

Plan prepare_unpool(const Problem& problem) {
  return {.state = unpooling_of(problem, problem.in[0]->dims, problem.out[0]->dims)};
}

Plan prepare_grad(const Problem& problem) {
  const Dims& unpooled = problem.in[MaxUnpoolGrad::in::out_grad]->dims;
  return {.state = unpooling_of(problem, problem.out[0]->dims, unpooled),
          .scratch = static_cast<size_t>(count_elements(unpooled)) * sizeof(int64_t)};
}

Status check_indices(const Unpooling& state, const int64_t* indices, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (state.place(indices[i]) < 0)
      return Status(
          errors::operand_index_out_of_range(fmt::format("index {}", i), indices[i], "a position in the result"));
  }
  return {};
}

Status run_unpool(const Call& call, int, int64_t) {
  const auto& state = state_of<Unpooling>(call);
  const int64_t* indices = call.in[MaxUnpool::in::indices].as<const int64_t>();
  const int64_t count = call.in[0].size();
  if (Status status = check_indices(state, indices, count); !status.ok()) return status;
  with_number(call.out[0].dtype, [&]<class T>() {
    T* dst = call.out[0].as<T>();
    const ConstView& value = call.in[MaxUnpool::in::value];
    std::fill_n(dst, call.out[0].size(), value.present() ? *value.as<const T>() : static_cast<T>(Wide<T>(0)));
    for (int64_t i = 0; i < count; ++i) dst[state.place(indices[i])] = call.in[0].as<const T>()[i];
  });
  return {};
}

/// Only the last element that max_unpool writes to a position is in its result.
Status run_grad(const Call& call, int, int64_t) {
  const auto& state = state_of<Unpooling>(call);
  const int64_t* indices = call.in[MaxUnpoolGrad::in::indices].as<const int64_t>();
  const int64_t count = call.out[0].size();
  if (Status status = check_indices(state, indices, count); !status.ok()) return status;
  auto* last = reinterpret_cast<int64_t*>(call.scratch);
  for (int64_t i = 0; i < count; ++i) last[state.place(indices[i])] = i;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* out_grad = call.in[MaxUnpoolGrad::in::out_grad].as<const T>();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = state.place(indices[i]);
      call.out[0].as<T>()[i] = last[place] == i ? out_grad[place] : T(0);
    }
  });
  return {};
}

}  // namespace

extern const Kernel reference_max_unpool{"reference", accept_all, prepare_unpool, run_unpool};
extern const Kernel reference_max_unpool_grad{"reference", accept_all, prepare_grad, run_grad};

}  // namespace halfstep::kernels

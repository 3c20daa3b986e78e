// max_unpool, which writes elements to the positions from which max_pool took them.
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

Plan prepare_unpool(const Problem& problem) {
  const MaxUnpool a(problem.attributes);
  const Dims& x = problem.in[0]->dims;
  Dims pooled = {x[0], x[1]};
  const size_t spatial = a.kernel.size();
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t padding = a.pad.empty() ? 0 : a.pad[i] + a.pad[spatial + i];
    pooled.push_back((x[2 + i] - 1) * (a.stride.empty() ? 1 : a.stride[i]) - padding + a.kernel[i]);
  }
  return {.state = std::make_shared<UnpoolState>(std::move(pooled), problem.out[0]->dims)};
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

Status run_unpool(const Call& call, int, int64_t) {
  const auto& [pooled, out] = state_of<UnpoolState>(call);
  const int64_t* indices = call.in[MaxUnpool::in::indices].as<const int64_t>();
  const int64_t count = call.in[0].size(), limit = count_elements(pooled);
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < 0 || indices[i] >= limit || moved_place(indices[i], pooled, out) < 0)
      return Status(
          errors::operand_index_out_of_range(fmt::format("index {}", i), indices[i], "a position in the result"));
  }
  with_number(call.out[0].dtype, [&, &from = pooled, &to = out]<class T>() {
    T* dst = call.out[0].as<T>();
    std::fill_n(dst, call.out[0].size(), static_cast<T>(Wide<T>(0)));
    for (int64_t i = 0; i < count; ++i) dst[moved_place(indices[i], from, to)] = call.in[0].as<const T>()[i];
  });
  return {};
}

}  // namespace

extern const Kernel reference_max_unpool{"reference", accept_all, prepare_unpool, run_unpool};

}  // namespace halfstep::kernels

// The gradient of gather. For each slice of x, a list has the indices that selected it, in order. Their gradients are
// summed in double and rounded once, so that neither threads nor the number of equal indices changes a bit.
#include <algorithm>
#include <array>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/tensor/indices.h"

namespace halfstep::kernels {
namespace tensor {
namespace {

constexpr int64_t kGradPiece = 16384, kGradChunk = 64;

struct GatherGradState {
  Axis axis;
  int64_t indices;

  int64_t rows() const { return axis.outer * axis.extent; }
  int64_t rows_per_piece() const { return std::max<int64_t>(1, kGradPiece / std::max<int64_t>(1, axis.inner)); }
};

Plan prepare_gather_grad(const Problem& problem) {
  using In = GatherGrad::in;
  const Axis axis(problem.in[In::x]->dims, GatherGrad(problem.attributes).axis);
  const int64_t count = count_elements(problem.in[In::indices]->dims);
  auto state = std::make_shared<GatherGradState>(axis, count);
  const int64_t pieces = axis.inner == 0 ? 0 : ceil_div(state->rows(), state->rows_per_piece());
  return {.state = std::move(state),
          .scratch = static_cast<size_t>(axis.extent + count) * sizeof(int64_t),
          .phases = {1, pieces}};
}

/// first[slice] is its first index, or -1, and next[index] the one after.
template <class Index>
Status write_lists(const Call& call, const GatherGradState& s) {
  const Index* indices = call.in[GatherGrad::in::indices].as<const Index>();
  auto* first = reinterpret_cast<int64_t*>(call.scratch);
  int64_t* next = first + s.axis.extent;
  if (Status status = check_indices(indices, s.indices, s.axis.extent); !status.ok()) return status;
  std::fill_n(first, s.axis.extent, int64_t{-1});
  for (int64_t i = s.indices; i-- > 0;) {
    int64_t& head = first[counted(static_cast<int64_t>(indices[i]), s.axis.extent)];
    next[i] = head;
    head = i;
  }
  return {};
}

template <class T>
void sum_row(const Call& call, const GatherGradState& s, int64_t row) {
  const auto* first = reinterpret_cast<const int64_t*>(call.scratch);
  const int64_t* next = first + s.axis.extent;
  const T* out_grad = call.in[GatherGrad::in::out_grad].as<const T>() + row / s.axis.extent * s.indices * s.axis.inner;
  T* dst = call.out[0].as<T>() + row * s.axis.inner;
  for (int64_t begin = 0; begin < s.axis.inner; begin += kGradChunk) {
    const int64_t count = std::min(kGradChunk, s.axis.inner - begin);
    std::array<double, kGradChunk> sums{};
    for (int64_t i = first[row % s.axis.extent]; i >= 0; i = next[i]) {
      for (int64_t e = 0; e < count; ++e) sums[e] += to_double(out_grad[i * s.axis.inner + begin + e]);
    }
    for (int64_t e = 0; e < count; ++e) dst[begin + e] = from_double<T>(sums[e]);
  }
}

Status run_gather_grad(const Call& call, int phase, int64_t piece) {
  const auto& s = state_of<GatherGradState>(call);
  if (phase == 0)
    return with_index(call.in[GatherGrad::in::indices].dtype,
                      [&]<class Index>() { return write_lists<Index>(call, s); });
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const int64_t end = std::min(s.rows(), (piece + 1) * s.rows_per_piece());
    for (int64_t row = piece * s.rows_per_piece(); row < end; ++row) sum_row<T>(call, s, row);
  });
  return {};
}

}  // namespace
}  // namespace tensor

extern const Kernel reference_gather_grad{"reference", accept_all, tensor::prepare_gather_grad,
                                          tensor::run_gather_grad};

}  // namespace halfstep::kernels

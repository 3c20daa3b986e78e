// reduce_max and reduce_min over the last axes.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/reduce/cpu/extremes.cpp"
#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/reduce/axes.h"
#include "halfstep/engine/kernels/reduce/extreme.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::reduce::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Equals ExtremeFold. Vectors do not show which of two zeros came first, or which NaN came last. In these cases the
/// row is folded.
template <bool largest>
float extreme(const float* row, int64_t size) {
  using Fold = ExtremeFold<float, largest>;
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto better = [](auto a, auto b) { return largest ? hn::Max(a, b) : hn::Min(a, b); };
  auto best = hn::Set(d, Fold::start());
  auto odd = hn::FirstN(d, 0);
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto some = hn::LoadU(d, row + i);
    odd = hn::Or(odd, hn::IsNaN(some));
    best = better(best, some);
  }
  Fold fold;
  fold.best = largest ? hn::GetLane(hn::MaxOfLanes(d, best)) : hn::GetLane(hn::MinOfLanes(d, best));
  if (fold.best == 0.0F || !hn::AllFalse(d, odd)) {
    fold = {};
    i = 0;
  }
  for (; i < size; ++i) fold.add(row[i]);
  return fold.best;
}

float largest(const float* row, int64_t size) { return extreme<true>(row, size); }
float smallest(const float* row, int64_t size) { return extreme<false>(row, size); }

}  // namespace halfstep::kernels::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace reduce {
namespace {

struct ExtremeState {
  int64_t rows, size;
  float (*extreme)(const float* row, int64_t size);

  int64_t piece_rows() const { return std::max<int64_t>(1, kPieceElements / size); }
};

/// Elements of x for each result if they are contiguous, otherwise 0.
template <class Typed>
int64_t row_size(const Problem& problem) {
  const Dims& x = problem.in[Typed::in::x]->dims;
  const Dims kept = kept_extents(x, Typed(problem.attributes));
  size_t axis = 0;
  while (axis < x.size() && kept[axis] == x[axis]) ++axis;
  int64_t size = 1;
  for (; axis < x.size(); ++axis) {
    if (kept[axis] != 1) return 0;
    size *= x[axis];
  }
  return size;
}

template <class Typed>
Verdict accept_rows(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  const Type& x = *problem.in[Typed::in::x];
  if (x.dtype != DType::f32) return refuse(errors::kernel_takes_other_types("x", name(x.dtype), "f32"));
  if (count_elements(x.dims) == 0) return refuse(errors::kernel_takes_no_empty_operand("x"));
  if (row_size<Typed>(problem) == 0) return refuse(errors::kernel_needs_layout("a reduction of the last axes"));
  return accept();
}

template <class Typed>
Plan prepare(const Problem& problem) {
  const int64_t size = row_size<Typed>(problem), rows = count_elements(problem.in[Typed::in::x]->dims) / size;
  constexpr bool kLargest = std::is_same_v<Typed, ReduceMax>;
  const auto extreme = kLargest ? HS_SIMD_CHOOSE(problem.level, largest) : HS_SIMD_CHOOSE(problem.level, smallest);
  auto state = std::make_shared<ExtremeState>(rows, size, extreme);
  const int64_t pieces = ceil_div(rows, state->piece_rows());
  return {.state = std::move(state), .phases = {pieces}};
}

Status run(const Call& call, int, int64_t piece) {
  const auto& state = state_of<ExtremeState>(call);
  const auto* x = call.in[0].as<const float>();
  auto* out = call.out[0].as<float>();
  const int64_t begin = piece * state.piece_rows(), end = std::min(state.rows, begin + state.piece_rows());
  for (int64_t row = begin; row < end; ++row) out[row] = state.extreme(x + row * state.size, state.size);
  return {};
}

}  // namespace
}  // namespace reduce

extern const Kernel cpu_reduce_max_rows{"rows", reduce::accept_rows<ReduceMax>, reduce::prepare<ReduceMax>,
                                        reduce::run};
extern const Kernel cpu_reduce_min_rows{"rows", reduce::accept_rows<ReduceMin>, reduce::prepare<ReduceMin>,
                                        reduce::run};

}  // namespace halfstep::kernels
#endif

// Pointwise kernels on vectors of f32, except for the loop, which simd-inl.h has once for each target.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "halfstep/engine/kernels/common/simd/dispatch.h"
#include "halfstep/engine/kernels/elementwise/driver.h"
#include "halfstep/engine/kernels/errors.h"

namespace halfstep::kernels::elementwise {

/// Lanes of the widest vector of f32, that of AVX-512.
inline constexpr size_t kMostLanes = 16;

/// A run of `size` elements. An operand that moves is read at src[i] + element. A repeated one has step 0 and
/// kMostLanes copies of its value at src[i], so that one kind of load serves both.
template <size_t N>
struct Row {
  std::array<const float*, N> src;
  std::array<int64_t, N> step;
  float* dst;
  int64_t size;
};

/// The loop over a row. `function` is the record's function object, for its attributes.
template <size_t N>
using RowLoop = void (*)(const void* function, const Row<N>& row);

template <size_t N>
struct SimdState : PointwiseState {
  RowLoop<N> loop;
};

template <size_t N>
Status run_rows(const Call& call, int, int64_t piece) {
  const auto& state = state_of<SimdState<N>>(call);
  const Runs& runs = state.runs;
  const int64_t begin = piece * kPiece;
  float* dst = call.out[0].as<float>() + begin;
  runs.for_each(begin, std::min(begin + kPiece, runs.size()), [&](int64_t run, int64_t first, int64_t count) {
    std::array<std::array<float, kMostLanes>, N> repeated;
    Row<N> row;
    for (size_t i = 0; i < N; ++i) {
      row.step[i] = runs.step(i);
      row.src[i] = call.in[i].template as<const float>() + runs.offset(i, run) + first * row.step[i];
      if (row.step[i] == 0) {
        repeated[i].fill(*row.src[i]);
        row.src[i] = repeated[i].data();
      }
    }
    row.dst = dst;
    row.size = count;
    state.loop(state.function.get(), row);
    dst += count;
  });
  return {};
}

/// `exact`: the results are bit-identical to those of Function.
template <bool exact>
Verdict accept_rows(const Problem& problem) {
  if constexpr (!exact) {
    if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  }
  if (!all_are(problem, DType::f32))
    return refuse(errors::kernel_takes_other_types("the result", name(problem.out[0]->dtype), "f32"));
  return accept_simd(problem);
}

/// `choose` returns the loop of a level from avx2 on.
template <class Function, size_t N, RowLoop<N> (*choose)(CpuLevel)>
Plan prepare_rows(const Problem& problem) {
  return plan_of(SimdState<N>{PointwiseState::of<Function>(problem), choose(problem.level)});
}

template <class Function, size_t N, RowLoop<N> (*choose)(CpuLevel), bool exact>
constexpr Kernel simd() {
  return {"simd", accept_rows<exact>, prepare_rows<Function, N, choose>, run_rows<N>};
}

}  // namespace halfstep::kernels::elementwise

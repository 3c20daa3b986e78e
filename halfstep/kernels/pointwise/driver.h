// Pointwise kernels around a function object: what opgen writes of a record's `compute` is Function and the number of
// its operands.
//
// A Function is made from Attributes and called with N numbers of one type.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "halfstep/kernels/kernel.h"
#include "halfstep/kernels/pointwise/runs.h"

namespace halfstep::kernels::pointwise {

/// Elements of a piece: some 10 us of work, and operands of it fit the second-level cache.
inline constexpr int64_t kPiece = 16384;

inline int64_t pieces(int64_t size) { return std::max<int64_t>(1, (size + kPiece - 1) / kPiece); }

/// Whether all operands and the result have that dtype.
inline bool all_are(const Problem& problem, DType dtype) {
  const auto is = [dtype](const Type* type) { return type->dtype == dtype; };
  return std::all_of(problem.in.begin(), problem.in.end(), is) && is(problem.out[0]);
}

/// One element after the other, every step rounded in the operands' own type.
template <class Function, size_t N>
class Reference {
 public:
  static Verdict accept(const Problem& problem) {
    if (all_are(problem, DType::f32) || all_are(problem, DType::f64)) return halfstep::accept();
    return refuse("it computes f32 and f64, not {}", name(problem.out[0]->dtype));
  }
  static Plan prepare(const Problem& problem) {
    auto state = std::make_shared<State>(State{Function(problem.attributes), Runs(problem.in, problem.out[0]->dims)});
    const int64_t count = pieces(state->runs.size());
    return {.state = std::move(state), .phases = {count}};
  }
  static Status run(const Call& call, int, int64_t piece) {
    if (call.out[0].dtype == DType::f32) {
      compute<float>(call, piece);
    } else {
      compute<double>(call, piece);
    }
    return {};
  }

 private:
  struct State {
    Function function;
    Runs runs;
  };

  template <class T>
  static void compute(const Call& call, int64_t piece) {
    const auto& [function, runs] = *static_cast<const State*>(call.state);
    const int64_t begin = piece * kPiece;
    T* dst = call.out[0].as<T>() + begin;
    runs.for_each(begin, std::min(begin + kPiece, runs.size()), [&](int64_t run, int64_t first, int64_t count) {
      std::array<const T*, N> src;
      for (size_t i = 0; i < N; ++i)
        src[i] = call.in[i].template as<const T>() + runs.offset(i, run) + first * runs.step(i);
      for (int64_t e = 0; e < count; ++e) *dst++ = apply<T>(function, src, runs, e, std::make_index_sequence<N>());
    });
  }

  template <class T, size_t... I>
  static T apply(const Function& function, const std::array<const T*, N>& src, const Runs& runs, int64_t e,
                 std::index_sequence<I...>) {
    return function(src[I][e * runs.step(I)]...);
  }
};

template <class Function, size_t N>
constexpr Kernel reference() {
  using K = Reference<Function, N>;
  return {"reference", K::accept, K::prepare, K::run};
}

}  // namespace halfstep::kernels::pointwise

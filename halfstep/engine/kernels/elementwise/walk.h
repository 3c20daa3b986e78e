// Loops over operands that broadcast to one result.
#pragma once

#include <memory>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/elementwise/runs.h"

namespace halfstep::kernels::elementwise {

/// Runs of the present operands along result 0, and the attributes.
template <class Typed>
struct BroadcastState {
  Runs runs;
  Typed attributes;
};

template <class Typed>
Plan prepare(const Problem& problem) {
  std::vector<const Type*> operands(problem.in.begin(), problem.in.end());
  static const Type kSingle{DType::f32, {}};
  std::replace(operands.begin(), operands.end(), static_cast<const Type*>(nullptr), &kSingle);
  auto state = std::make_shared<BroadcastState<Typed>>(Runs(operands, problem.out[0]->dims), Typed(problem.attributes));
  const int64_t count = pieces(state->runs.size());
  return {.state = std::move(state), .phases = {count}};
}

/// Position of an operand in a run, and whether it moves.
template <class T>
struct Cursor {
  const T* at;
  bool moves;
  Cursor(const Runs& runs, size_t operand, const T* base, int64_t run, int64_t first)
      : at(base + runs.offset(operand, run) + first * runs.step(operand)), moves(runs.step(operand) != 0) {}
};

/// Calls visit(run, first, count, offset in the result) for the runs of `piece`.
template <class Visit>
void for_each_run(const Runs& runs, int64_t piece, const Visit& visit) {
  const int64_t begin = piece * kPiece;
  int64_t at = begin;
  runs.for_each(begin, std::min(begin + kPiece, runs.size()), [&](int64_t run, int64_t first, int64_t count) {
    visit(run, first, count, at);
    at += count;
  });
}

/// out = function(x) for elements of one type or two.
template <class X, class Out, class Function>
void map_one(const X* x, Out* out, int64_t size, int64_t piece, const Function& function) {
  const int64_t end = std::min(size, (piece + 1) * kPiece);
  for (int64_t i = piece * kPiece; i < end; ++i) out[i] = function(x[i]);
}

/// out = function(a, b), where a and b are operands 0 and 1 of the runs.
template <class A, class B, class Out, class Function>
void map_two(const Runs& runs, const A* a, const B* b, Out* out, int64_t piece, const Function& function) {
  for_each_run(runs, piece, [&](int64_t run, int64_t first, int64_t count, int64_t at) {
    const Cursor<A> l(runs, 0, a, run, first);
    const Cursor<B> r(runs, 1, b, run, first);
    Out* dst = out + at;
    if (l.moves && r.moves) {
      for (int64_t e = 0; e < count; ++e) dst[e] = function(l.at[e], r.at[e]);
    } else if (l.moves) {
      const B other = *r.at;
      for (int64_t e = 0; e < count; ++e) dst[e] = function(l.at[e], other);
    } else if (r.moves) {
      const A other = *l.at;
      for (int64_t e = 0; e < count; ++e) dst[e] = function(other, r.at[e]);
    } else {
      std::fill_n(dst, count, static_cast<Out>(function(*l.at, *r.at)));
    }
  });
}

}  // namespace halfstep::kernels::elementwise

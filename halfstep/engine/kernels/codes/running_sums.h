// Sums of codes along an axis, up to each element.
#pragma once

#include "halfstep/engine/kernels/codes/rows.h"

namespace halfstep::kernels {

/// `Typed` is the generated attribute struct of a running sum.
template <class Typed>
struct RunningSums {
  Typed attributes;
  Rows rows;

  explicit RunningSums(const Problem& problem)
      : attributes(problem.attributes), rows(Rows::of(problem.in[Typed::in::x]->dims, attributes.axis)) {}

  /// Calls visit(position, sum) for the elements of a piece. steps(position) is the term of an element.
  template <class Steps, class Visit>
  void for_piece(int64_t piece, const Steps& steps, const Visit& visit) const {
    rows.for_piece(piece, [&](int64_t row) {
      int64_t before = 0;
      for (int64_t i = 0; i < rows.extent; ++i) {
        const int64_t place = rows.first(row) + (attributes.reverse ? rows.extent - 1 - i : i) * rows.stride;
        const int64_t sum = before + steps(place);
        visit(place, attributes.exclusive ? before : sum);
        before = sum;
      }
    });
  }
};

}  // namespace halfstep::kernels

// How two values of codes lie that are multiplied as matrices, and what is added up along axes.
#pragma once

#include <algorithm>

#include "halfstep/arith/accumulator.h"
#include "halfstep/kernels/common/codes.h"
#include "halfstep/kernels/kernel.h"
#include "halfstep/kernels/reduce/axes.h"
#include "halfstep/kernels/reduce/groups.h"

namespace halfstep::kernels {

/// [batches, rows, depth] by [batches, depth, columns], either with its last two axes exchanged.
struct Contraction {
  int64_t batches = 1, rows = 0, depth = 0, columns = 0;
  bool transpose_a = false, transpose_b = false;

  template <class Typed>
  static Contraction of(const Typed& attributes, const Problem& problem) {
    const Dims &a = problem.in[Typed::in::a]->dims, &out = problem.out[0]->dims;
    const size_t rank = out.size();
    Contraction p{1,
                  out[rank - 2],
                  a[attributes.transpose_a ? rank - 2 : rank - 1],
                  out[rank - 1],
                  attributes.transpose_a,
                  attributes.transpose_b};
    for (size_t i = 0; i + 2 < rank; ++i) p.batches *= out[i];
    return p;
  }

  /// Of a row of the result, counted over all batches.
  int64_t a_place(int64_t row, int64_t k) const {
    if (!transpose_a) return row * depth + k;
    return (row / rows * depth + k) * rows + row % rows;
  }
  int64_t b_place(int64_t row, int64_t k, int64_t column) const {
    const int64_t first = row / rows * depth * columns;
    return first + (transpose_b ? column * depth + k : k * columns + column);
  }
};

/// Refuses what accumulators have no room for, whatever the codes are: extents that were open when the network was
/// converted are known here.
inline Verdict accept_contraction(const Contraction& product, const Problem& problem) {
  const auto largest = [&](int port) { return is_wide(problem.in[port]->dtype) ? int64_t{65535} : int64_t{255}; };
  // the operands are the first port, and the one behind its scale and zero point where it has these
  const int b = static_cast<int>(problem.in.size()) > 2 ? 3 : 1;
  const int64_t one = largest(0) * largest(b);
  if (product.depth <= arith::kMostScaled / one) return accept();
  return refuse("{} products of codes can reach more than 2^32; use fewer bits or shorter rows", product.depth);
}

/// sums[result] = the sum of step(element) over the elements of x that belong to it.
template <class Step>
void add_along(const Groups& groups, int64_t* sums, Step&& step) {
  std::fill_n(sums, groups.results(), int64_t{0});
  for (int64_t piece = 0; piece < groups.pieces(); ++piece) {
    groups.for_each_run(piece, [&](int64_t first, int64_t result, int64_t count, bool is_one) {
      for (int64_t i = 0; i < count; ++i) sums[is_one ? result : result + i] += step(first + i);
    });
  }
}

}  // namespace halfstep::kernels

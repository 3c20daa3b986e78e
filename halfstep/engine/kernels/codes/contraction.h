// Layout of two values of codes that are multiplied as matrices, and sums along axes.
#pragma once

#include <algorithm>

#include "halfstep/core/arith/accumulator.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/reduce/axes.h"
#include "halfstep/engine/kernels/reduce/groups.h"

namespace halfstep::kernels {

/// Layout of the matrices of a value: consecutive, or with the rows of `heads` matrices side by side.
struct MatrixPlaces {
  int64_t heads = 1, rows = 0, columns = 0;

  /// Position of the first element of a matrix.
  int64_t begin(int64_t matrix) const { return (matrix / heads * rows * heads + matrix % heads) * columns; }
  /// Elements from row to row.
  int64_t step() const { return heads * columns; }
};

/// [batches, rows, depth] by [batches, depth, columns]. The last two axes of either may be exchanged.
struct Contraction {
  int64_t batches = 1, rows = 0, depth = 0, columns = 0;
  bool transpose_a = false, transpose_b = false;
  MatrixPlaces a, b, out;

  static Contraction of(const FusedIntegerMatmul& attributes, const Problem& problem) {
    using In = FusedIntegerMatmul::in;
    const Dims &x = problem.in[In::a]->dims, &out = problem.out[0]->dims;
    const int64_t heads = x[attributes.a_by_rows ? 2 : 1];
    Contraction p(x[0] * heads, out[attributes.out_by_rows ? 1 : 2], x[3], out[3], false, attributes.transpose_b);
    if (attributes.a_by_rows) p.a.heads = heads;
    if (attributes.b_by_rows) p.b.heads = heads;
    if (attributes.out_by_rows) p.out.heads = heads;
    return p;
  }

  template <class Typed>
  static Contraction of(const Typed& attributes, const Problem& problem) {
    const Dims &a = problem.in[Typed::in::a]->dims, &out = problem.out[0]->dims;
    const size_t rank = out.size();
    int64_t batches = 1;
    for (size_t i = 0; i + 2 < rank; ++i) batches *= out[i];
    return {batches,       out[rank - 2],          a[attributes.transpose_a ? rank - 2 : rank - 1],
            out[rank - 1], attributes.transpose_a, attributes.transpose_b};
  }

  /// The product of rows and the weights of a layer, [columns, depth].
  static Contraction of_layer(int64_t rows, int64_t depth, int64_t columns) {
    return {1, rows, depth, columns, false, true};
  }

  /// Position of an element in a, for a row of the result counted over all batches.
  int64_t a_place(int64_t row, int64_t k) const {
    const int64_t first = a.begin(row / rows), i = row % rows;
    return first + (transpose_a ? k * a.step() + i : i * a.step() + k);
  }
  int64_t b_place(int64_t row, int64_t k, int64_t column) const {
    return b.begin(row / rows) + (transpose_b ? column * b.step() + k : k * b.step() + column);
  }
  /// Position of the first element of a row of the result.
  int64_t out_place(int64_t row) const { return out.begin(row / rows) + row % rows * out.step(); }

 private:
  Contraction(int64_t batch_count, int64_t row_count, int64_t of_depth, int64_t column_count, bool turned_a,
              bool turned_b)
      : batches(batch_count),
        rows(row_count),
        depth(of_depth),
        columns(column_count),
        transpose_a(turned_a),
        transpose_b(turned_b),
        a{1, turned_a ? of_depth : row_count, turned_a ? row_count : of_depth},
        b{1, turned_b ? column_count : of_depth, turned_b ? of_depth : column_count},
        out{1, row_count, column_count} {}
};

/// Refuses products whose sums could overflow the accumulators for some codes. Dynamic dimensions have known extents
/// here, but not at conversion.
inline Verdict accept_contraction(const Contraction& product, const Problem& problem) {
  const auto largest = [&](int port) { return is_wide(problem.in[port]->dtype) ? int64_t{65535} : int64_t{255}; };
  // The operands are the first port, and the one after its scale and zero point if it has these.
  const int b = static_cast<int>(problem.in.size()) > 2 ? 3 : 1;
  const int64_t one = largest(0) * largest(b);
  if (product.depth <= arith::kMostScaled / one) return accept();
  return refuse(errors::kernel_product_too_deep(product.depth));
}

/// sums[result] = the sum of step(element) over the elements of x that belong to the result.
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

// Matrix products whose leading axes broadcast.
#pragma once

#include <vector>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/shape.h"

namespace halfstep::kernels {

/// y[batch] = a[a_batch[batch]] * b[b_batch[batch]]. Each product multiplies [rows, inner] by [inner, columns].
struct MatmulShape {
  int64_t rows = 1, inner = 0, columns = 1;
  std::vector<int64_t> a_batch, b_batch;
  int64_t rows_per_piece = 1;

  /// Takes the extents like numpy.matmul.
  MatmulShape(const Dims& a, const Dims& b, const Dims& y);

  int64_t batches() const { return static_cast<int64_t>(a_batch.size()); }
  int64_t pieces_per_batch() const { return ceil_div(rows, rows_per_piece); }
  int64_t pieces() const { return batches() * pieces_per_batch(); }
};

}  // namespace halfstep::kernels

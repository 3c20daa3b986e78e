// Operands of a product in tiles.
#pragma once

#include <cstdint>

namespace halfstep::kernels::matrix {

/// c = a * b * factor, for rows of a and `columns` columns of b. The elements of a row of b and c are contiguous. The
/// other distances are in elements.
struct TileProduct {
  const float *a, *b;
  int64_t a_row, a_column = 1, b_row, depth;
  float* c;
  int64_t c_row, columns;
  const float* factors = nullptr;  ///< factors by row, or null to use `factor`
  float factor = 1;
};

}  // namespace halfstep::kernels::matrix

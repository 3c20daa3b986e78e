// What a product in tiles is given.
#pragma once

#include <cstdint>

namespace halfstep::kernels::matrix {

/// c = a * b * factor, for rows of a and `columns` of b whose elements are neighbours; other elements lie as far apart
/// as the steps say.
struct TileProduct {
  const float *a, *b;
  int64_t a_row, a_column = 1, b_row, depth;
  float* c;
  int64_t c_row, columns;
  const float* factors = nullptr;  ///< by row; null: `factor`
  float factor = 1;
};

}  // namespace halfstep::kernels::matrix

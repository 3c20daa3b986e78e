// Extents and strides of a matrix product.
#pragma once

#include <cstdint>

#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

/// `batches` products c[m, n] = a[m, k] * b[k, n] of dense matrices. The strides tell whether a and b are transposed.
struct Product {
  int64_t batches, m, n, k;
  int64_t a_row, a_column;
  int64_t b_row, b_column;
};

/// The product of linear and linear_activation, where b is the transpose of w.
Product linear_product(const Problem& problem);
Product matmul_product(const Problem& problem);

/// The residual that linear_activation adds to its sums. It is absent in linear, whose other operands are the same.
ConstView residual_of(const Call& call);

}  // namespace halfstep::kernels

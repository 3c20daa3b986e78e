// Matrix products as in numpy.matmul.
#pragma once

#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {

/// Inserts matmul for matrices or equal batches of matrices, and for all rows at once if b is one matrix. Otherwise
/// inserts matmul_broadcast.
Operand matrix_product(Builder& builder, const Node& node, const Operand& a, const Operand& b);

}  // namespace halfstep::formats

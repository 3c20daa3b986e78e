// Matrix products as numpy.matmul has them.
#pragma once

#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {

/// matmul of matrices or of equal batches of them, of all rows at once where b is one matrix, else matmul_broadcast.
Operand matrix_product(Builder& builder, const Node& node, const Operand& a, const Operand& b);

}  // namespace halfstep::formats

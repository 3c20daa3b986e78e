// Splits a tensor along its first axis into the values of iterations, and stacks such values.
#pragma once

#include <vector>

#include "halfstep/core/base/tensor.h"

namespace halfstep::runtime {

/// Row `i` of the first axis.
Tensor row_of(const Tensor& tensor, int64_t i);

/// Stacks rows of one type along a new first axis. `type` is the type of a row, for the case without rows.
Tensor stacked(const std::vector<Tensor>& rows, const Type& type);

}  // namespace halfstep::runtime

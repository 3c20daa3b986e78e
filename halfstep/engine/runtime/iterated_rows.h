// Values that iterations take from a tensor or make one of, along its first axis.
#pragma once

#include <vector>

#include "halfstep/core/base/tensor.h"

namespace halfstep::runtime {

/// Row `i` of the first axis.
Tensor row_of(const Tensor& tensor, int64_t i);

/// All of one type, along a new first axis; `type` says what they would have been where there are none.
Tensor stacked(const std::vector<Tensor>& rows, const Type& type);

}  // namespace halfstep::runtime

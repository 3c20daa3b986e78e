// Runs one operation alone.
#pragma once

#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/graph.h"

namespace halfstep::compiler {

/// By the reference kernel: operands by flat position (undefined where absent) to the produced results in port order.
std::vector<Tensor> evaluate(Op op, const std::vector<Tensor>& operands);

}  // namespace halfstep::compiler

// Runs a single operation.
#pragma once

#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/graph.h"

namespace halfstep::compiler {

/// Uses the reference kernel. `operands` are in flat positions (undefined if absent). Returns the produced results in
/// port order.
std::vector<Tensor> evaluate(Op op, const std::vector<Tensor>& operands);

}  // namespace halfstep::compiler

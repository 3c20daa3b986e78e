// Gradients of a single operator without a network.
#pragma once

#include <span>
#include <vector>

#include "halfstep/api/settings.h"
#include "halfstep/core/ir/op_info.h"

namespace halfstep::api {

/// Returns the gradients of a loss for the operands of `info`, by its record, given the gradients for its results.
/// `operands` are by flat position (undefined: absent). `wanted` operands must be floats. `result_gradients` are by
/// port (undefined: none), each with the type of its result. A result without a gradient is undefined. The program for
/// a combination of attributes and types is compiled once and cached. Thread-safe. Throws Error for invalid operands,
/// and unsupported for an operator without a gradient.
std::vector<Tensor> gradient(const OpInfo& info, const Attributes& attributes, std::span<const Tensor> operands,
                             std::span<const Tensor> result_gradients, const std::vector<bool>& wanted);

}  // namespace halfstep::api

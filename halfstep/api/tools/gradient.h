// Gradients of a single operator, without a network.
#pragma once

#include <span>
#include <vector>

#include "halfstep/api/settings.h"
#include "halfstep/core/ir/op_info.h"

namespace halfstep::api {

/// Gradients of a loss with respect to operands of `info`, as its record says, from those with respect to its results.
/// Operands by flat position (undefined: absent), of floats where they are `wanted`; `result_gradients` by port
/// (undefined: none), each of its result's type. Where there is no gradient the result is undefined. What a combination
/// of attributes and types needs is compiled once and remembered for a while. Thread-safe. Throws Error: operands that
/// the operator does not take, an operator without a gradient (unsupported).
std::vector<Tensor> gradient(const OpInfo& info, const Attributes& attributes, std::span<const Tensor> operands,
                             std::span<const Tensor> result_gradients, const std::vector<bool>& wanted);

}  // namespace halfstep::api

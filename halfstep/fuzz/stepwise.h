// A network that runs operator by operator, so that every value can be looked at and changed.
#pragma once

#include <functional>
#include <span>

#include "halfstep/core/ir/model.h"

namespace halfstep::fuzz {

/// Called once for each value when it is known; its result is the value that is read. `operands` are those of the
/// operator that made it, none for an input or a stored tensor.
using Visit = std::function<Tensor(Value value, const Tensor& tensor, std::span<const Tensor> operands)>;

/// Outputs by name. The network has no regions.
Tensors run_stepwise(const Model& model, const Tensors& inputs, const Visit& visit);

}  // namespace halfstep::fuzz

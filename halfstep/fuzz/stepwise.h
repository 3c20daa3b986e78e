// Runs a network operator by operator, so that every value can be read and changed.
#pragma once

#include <functional>
#include <span>

#include "halfstep/core/ir/model.h"

namespace halfstep::fuzz {

/// Called once for each computed value. Returns the value for its readers. `operands` are those of its operator, empty
/// for inputs and stored tensors.
using Visit = std::function<Tensor(Value value, const Tensor& tensor, std::span<const Tensor> operands)>;

/// Returns outputs by name. The network must not have regions.
Tensors run_stepwise(const Model& model, const Tensors& inputs, const Visit& visit);

}  // namespace halfstep::fuzz

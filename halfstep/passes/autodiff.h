// Reverse-mode differentiation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/ir/model.h"

namespace halfstep::passes {

/// The gradient of a loss with respect to each parameter, by the parameter's name: f32 of the parameter's extents.
struct Gradients {
  std::map<std::string, Value> of;
};

/// Appends to the body what the gradients of `loss` (f32, one element) with respect to the named tensors need, by the
/// rules of the records, and nothing else. The gradient of a value of codes is that of the value they stand for. Names:
/// VALUE.grad, VALUE.grad.2, ... for gradients of VALUE, the last one being their sum; NODE.OPERATOR for what lies
/// between. A value with several readers sums its gradients in program order of the readers. New operations have the
/// location of the one that they belong to. The seed is the constant tensor LOSS.grad. Throws Error: a tensor that does
/// not exist, is not f32 or is not reached from the loss (bad_input), a node on the way whose operator has no gradient
/// (unsupported).
Gradients autodiff(Model& model, Value loss, const std::vector<std::string>& parameter_names);

}  // namespace halfstep::passes

// Reverse-mode differentiation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Gradients by the name of what they are of, of its type.
struct Gradients {
  std::map<std::string, Value> of;
};

/// Where differentiation starts: a value, and what the gradient with respect to it is.
struct Seed {
  Value value;
  Value gradient;
};

/// Appends to the body what the gradients of the seeds' values with respect to the named tensors and arguments need, by
/// the rules of the records, and nothing else; those that no seed reaches are not in the result. The gradient of a
/// value of codes is that of the value they stand for. Names: VALUE.grad, VALUE.grad.2, ... for gradients of VALUE, the
/// last one being their sum; NODE.OPERATOR for what lies between. A value with several readers sums its gradients in
/// program order of the readers. New operations have the location of the one that they belong to. Of operations with
/// regions see flow_gradients. Throws Error: a
/// tensor that does not exist or is not of floats (bad_input); a Error with every node on the way whose operator has
/// no gradient, as far as there are gradients to hand on.
Gradients autodiff(Model& model, const std::vector<Seed>& seeds, const std::vector<std::string>& names);

/// The same of values: tensors and arguments of floats. Gradients lie as they do; a null value where there is none.
std::vector<Value> autodiff(Model& model, const std::vector<Seed>& seeds, const std::vector<Value>& wanted);

/// The same of a loss (f32, one element), whose seed is the constant tensor LOSS.grad. Throws Error too where a name is
/// not reached from the loss.
Gradients autodiff(Model& model, Value loss, const std::vector<std::string>& names);

}  // namespace halfstep::passes

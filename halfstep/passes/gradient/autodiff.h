// Reverse-mode differentiation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Gradients by the name of the value that they belong to, with the type of that value.
struct Gradients {
  std::map<std::string, Value> of;
};

/// Starting point of differentiation: a value, and the gradient with respect to it.
struct Seed {
  Value value;
  Value gradient;
};

/// Appends to the body the operations that compute the gradients of the seeds' values with respect to the named tensors
/// and arguments, by the rules of the records. Names that no seed reaches are missing in the result. The gradient of a
/// value of codes is the gradient of the real value that they represent.
/// Names: gradients of VALUE are VALUE.grad, VALUE.grad.2, ..., and the last one is their sum. Values in between are
/// NODE.OPERATOR. A value with several readers sums its gradients in program order of the readers. New operations have
/// the location of the operation that they belong to. For operations with regions see flow_gradients.
/// Throws Error (bad_input) for a tensor that does not exist or does not hold floats. Throws Error with every node on
/// the path whose operator has no gradient, as far as gradients can be propagated.
Gradients autodiff(Model& model, const std::vector<Seed>& seeds, const std::vector<std::string>& names);

/// Takes values instead of names: tensors and arguments of floats. Gradients are in the order of `wanted`, with a null
/// value if there is none.
std::vector<Value> autodiff(Model& model, const std::vector<Seed>& seeds, const std::vector<Value>& wanted);

/// Differentiates a loss (f32, one element), whose seed is the constant tensor LOSS.grad. Also throws Error if a name
/// is not reached from the loss.
Gradients autodiff(Model& model, Value loss, const std::vector<std::string>& names);

/// Like autodiff of a loss, except that the results of operations without a gradient count as constants, and names that
/// no gradient reaches are missing. Returns the reasons of these operations in `blocked`.
Gradients reachable_gradients(Model& model, Value loss, const std::vector<std::string>& names,
                              std::vector<Diagnostic>& blocked);

}  // namespace halfstep::passes

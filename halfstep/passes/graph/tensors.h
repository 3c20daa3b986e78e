// Tensors of a Model, declared and erased together with their contents.
#pragma once

#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Adds a tensor named `hint`, or `hint.2`, `hint.3`, ... if that name is taken.
Value add_tensor(Model& model, const std::string& hint, Tensor contents, Role role);

/// Returns the contents of a tensor. Throws for a computed value, naming it.
const Tensor& contents_of(const Model& model, Value tensor);

/// Makes the contents of a tensor, which other Models may share, the Model's own.
Tensor& own_contents(Model& model, const std::string& tensor);

/// Adds an argument with exactly this name. An operation of this name is renamed. Throws if the network already has
/// such an argument.
Value add_argument(Graph& graph, const std::string& name, Type type);

/// The tensor must be unused.
void erase_tensor(Model& model, Value tensor);

}  // namespace halfstep::passes

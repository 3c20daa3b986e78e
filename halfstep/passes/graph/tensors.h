// Tensors of a Model, declared and erased together with their contents.
#pragma once

#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// A new tensor of the name `hint`, or `hint.2`, `hint.3`, ... where that is taken.
Value add_tensor(Model& model, const std::string& hint, Tensor contents, Role role);

/// Contents of a tensor; throws, naming it, for a value that is computed.
const Tensor& contents_of(const Model& model, Value tensor);

/// The contents of a tensor, which other Models may share, as the Model's own.
Tensor& own_contents(Model& model, const std::string& tensor);

/// An argument that we need under this name: an operation that has it gets another. Throws where the network itself has
/// such an argument.
Value add_argument(Graph& graph, const std::string& name, Type type);

/// The tensor must be unused.
void erase_tensor(Model& model, Value tensor);

}  // namespace halfstep::passes

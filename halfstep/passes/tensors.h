// Tensors of a Model, declared and erased together with their contents.
#pragma once

#include <string>

#include "halfstep/ir/model.h"

namespace halfstep::passes {

/// A new tensor of the name `hint`, or `hint.2`, `hint.3`, ... where that is taken.
Value add_tensor(Model& model, const std::string& hint, Tensor contents, Role role);

/// The tensor must be unused.
void erase_tensor(Model& model, Value tensor);

}  // namespace halfstep::passes

// Conversion between Python arrays and the library's tensors.
#pragma once

#include <string>

#include "python/src/python.h"

namespace halfstep::python {

/// Copies an array, a buffer or a tensor that supports DLPack. `verb` and `name` describe it in messages.
Tensor tensor_of(nb::handle array, std::string_view verb, const std::string& name);

/// Copies the arrays of a dict.
Tensors tensors_of(const nb::dict& arrays, std::string_view verb);

/// Makes arrays by name, as `array_of` does.
nb::dict arrays_of(Tensors tensors);

/// Makes a PyTorch tensor over the memory of a tensor of ours. Imports PyTorch.
nb::object torch_tensor(const Tensor& tensor);

}  // namespace halfstep::python

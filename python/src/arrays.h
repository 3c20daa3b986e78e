// Arrays of Python as tensors of the library.
#pragma once

#include <string>

#include "python/src/python.h"

namespace halfstep::python {

/// A copy of an array, a buffer or a tensor that speaks DLPack. `verb` and `name` say in messages what it is.
Tensor tensor_of(nb::handle array, std::string_view verb, const std::string& name);

/// Those of a dict.
Tensors tensors_of(const nb::dict& arrays, std::string_view verb);

/// By name, as `array_of` makes them.
nb::dict arrays_of(Tensors tensors);

/// A tensor of PyTorch, which is imported, over the memory of ours.
nb::object torch_tensor(const Tensor& tensor);

}  // namespace halfstep::python

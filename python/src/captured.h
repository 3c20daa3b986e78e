// Python arrays, and captured Python functions.
#pragma once

#include <span>
#include <vector>

#include "python/src/python.h"

namespace halfstep::python {

/// Defines the class of arrays, the switches and captured functions. Call it once.
void define_arrays(nb::module_& module);
void define_captured(nb::module_& module);
void define_regions(nb::module_& module);
void define_layers(nb::module_& module);
void define_losses(nb::module_& module);

/// While this lives, the library uses the switches of Python's context (of a thread or a coroutine).
class [[nodiscard]] InContext {
 public:
  InContext();

 private:
  capture::Switched switched_;
};

/// Returns the array of an object, or nullptr if the object is not an array.
const Array* as_array_of_ours(PyObject* object);

/// Makes the object for an array, of the class that the package registered.
nb::object object_of(Array array);

nb::list objects_of(const capture::Arrays& arrays);
capture::Arrays arrays_in(const std::vector<nb::object>& objects);

/// Wraps a Python function that maps a list of arrays to another one.
capture::Body body_of(const nb::object& function);

/// Returns the bits of one or more elements. The program continues according to them.
const Tensor& decided(const Array& array);

}  // namespace halfstep::python

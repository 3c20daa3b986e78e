// Arrays of Python, and what is captured of its functions.
#pragma once

#include <span>
#include <vector>

#include "python/src/python.h"

namespace halfstep::python {

/// Makes the class of arrays, the switches and captured functions; once.
void define_arrays(nb::module_& module);
void define_captured(nb::module_& module);
void define_regions(nb::module_& module);

/// The library's switches are those of Python's context (of a thread, of a coroutine) while this lives.
class [[nodiscard]] InContext {
 public:
  InContext();

 private:
  capture::Switched switched_;
};

/// The array that an object is; nullptr where it is none.
const Array* as_array_of_ours(PyObject* object);

/// The object for an array: of the class that the package registered.
nb::object object_of(Array array);

capture::Arrays arrays_in(const std::vector<nb::object>& objects);

/// A function of Python that takes a list of arrays and gives one.
capture::Body body_of(const nb::object& function);

/// The bits of an element or of several, which the program goes on by.
const Tensor& decided(const Array& array);

}  // namespace halfstep::python

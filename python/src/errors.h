// Errors of the library as exceptions of Python.
#pragma once

#include "python/src/python.h"

namespace halfstep::python {

/// Makes halfstep.Error, UnsupportedError and AbsentResultError; once, before anything else here.
void define_errors(nb::module_& module);

/// Sets the exception that stands for the C++ exception being handled: Error (a ValueError) for wrong use, its
/// UnsupportedError for what nothing here can do, KeyboardInterrupt, RuntimeError for a defect of ours, MemoryError;
/// Python's own pass through.
void set_exception();

/// Throws AbsentResultError, an AttributeError.
[[noreturn]] void throw_absent(const std::string& message);

/// Throws TypeError.
[[noreturn]] void throw_type_error(const std::string& message);

}  // namespace halfstep::python

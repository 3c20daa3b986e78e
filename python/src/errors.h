// Errors of the library as Python exceptions.
#pragma once

#include "python/src/python.h"

namespace halfstep::python {

/// Defines halfstep.Error, UnsupportedError and AbsentResultError. Call it once, before anything else here.
void define_errors(nb::module_& module);

/// Sets the Python exception for the C++ exception being handled. Wrong use becomes Error (a ValueError), and an
/// unsupported request its subclass UnsupportedError. Other types are KeyboardInterrupt, RuntimeError for an internal
/// defect, and MemoryError. Python's own exceptions pass through.
void set_exception();

/// Throws AbsentResultError, an AttributeError.
[[noreturn]] void throw_absent(const std::string& message);

/// Throws TypeError.
[[noreturn]] void throw_type_error(const std::string& message);

}  // namespace halfstep::python

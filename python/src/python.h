// Python's and NumPy's C interfaces for every file of the extension, and the public header of the library.
#pragma once

#include <nanobind/nanobind.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL halfstep_numpy_api
#ifndef HALFSTEP_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "halfstep/halfstep.h"

namespace halfstep::python {

namespace nb = nanobind;

/// Whether an object may be a NumPy object, so that NumPy's interface can be used. The creator of such an object has
/// imported NumPy.
bool numpy_in_use();
/// Imports NumPy if it is installed. Throws if the import fails.
bool numpy_installed();

/// Takes the new reference that a call returned. Throws the Python error if it is nullptr.
inline nb::object owned(PyObject* object) {
  if (object == nullptr) nb::raise_python_error();
  return nb::steal(object);
}

}  // namespace halfstep::python

// Python's and NumPy's C interfaces, as every file of the extension sees them, and the face of the library.
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

/// Whether an object may be NumPy's, whose interface may then be used: whoever made it has imported NumPy.
bool numpy_in_use();
/// Imports NumPy where it is installed. Throws where that goes wrong.
bool numpy_installed();

/// A new reference from a call that gives nullptr on an error, which is then thrown.
inline nb::object owned(PyObject* object) {
  if (object == nullptr) nb::raise_python_error();
  return nb::steal(object);
}

}  // namespace halfstep::python

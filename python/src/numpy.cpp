// NumPy is imported when it is first needed, unless it already was.
#define HALFSTEP_IMPORTS_NUMPY
#include "python/src/python.h"

namespace halfstep::python {
namespace {

bool is_imported() { return PyArray_API != nullptr; }

void import_interface() {
  if (PyArray_ImportNumPyAPI() < 0) nb::raise_python_error();
}

}  // namespace

bool numpy_in_use() {
  if (is_imported()) return true;
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
  if (module == nullptr || module == Py_None) return false;
  import_interface();
  return true;
}

bool numpy_installed() {
  static bool missing = false;
  if (is_imported() || missing) return !missing;
  if (!nb::steal(PyImport_ImportModule("numpy")).is_valid()) {
    if (PyErr_ExceptionMatches(PyExc_ModuleNotFoundError) == 0) nb::raise_python_error();
    PyErr_Clear();
    missing = true;
    return false;
  }
  import_interface();
  return true;
}

}  // namespace halfstep::python

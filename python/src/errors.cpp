#include "python/src/errors.h"

#include <new>

namespace halfstep::python {
namespace {

PyObject* error_type = nullptr;
PyObject* unsupported_type = nullptr;
PyObject* absent_type = nullptr;

PyObject* new_exception(nb::module_& module, const char* name, const char* doc, PyObject* base) {
  PyObject* type = PyErr_NewExceptionWithDoc((std::string("halfstep.") + name).c_str(), doc, base, nullptr);
  if (type == nullptr) nb::raise_python_error();
  module.attr(name) = nb::borrow(type);
  return type;
}

PyObject* type_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::internal: return PyExc_RuntimeError;
    case ErrorKind::interrupted: return PyExc_KeyboardInterrupt;
    case ErrorKind::unsupported: return unsupported_type;
    case ErrorKind::bad_input: break;
  }
  return error_type;
}

[[noreturn]] void throw_exception(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

}  // namespace

void define_errors(nb::module_& module) {
  error_type = new_exception(module, "Error",
                             "A rule does not hold, a dtype or dims do not fit, or nothing here can do it; the message "
                             "says what, where, found and expected.",
                             PyExc_ValueError);
  unsupported_type = new_exception(module, "UnsupportedError",
                                   "A correct request that Halfstep, or the platform, cannot do.", error_type);
  absent_type =
      new_exception(module, "AbsentResultError", "The attributes of the call switch off the result that was asked for.",
                    PyExc_AttributeError);
}

void set_exception() {
  capture::note_all_extents();  // a function that is captured may go on by it
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    PyErr_SetString(type_of(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void throw_absent(const std::string& message) { throw_exception(absent_type, message); }
void throw_type_error(const std::string& message) { throw_exception(PyExc_TypeError, message); }

}  // namespace halfstep::python

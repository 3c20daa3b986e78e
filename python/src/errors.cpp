#include "python/src/errors.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <new>
#include <vector>

#include "halfstep/api/tools/explain.h"
#include "halfstep/report/errors.h"

namespace halfstep::python {
namespace {

PyObject* error_type = nullptr;
PyObject* unsupported_type = nullptr;
PyObject* internal_type = nullptr;
PyObject* absent_type = nullptr;

PyObject* new_exception(nb::module_& module, const char* name, const char* doc, PyObject* base) {
  PyObject* type = PyErr_NewExceptionWithDoc((std::string("halfstep.") + name).c_str(), doc, base, nullptr);
  if (type == nullptr) nb::raise_python_error();
  module.attr(name) = nb::borrow(type);
  return type;
}

PyObject* type_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::internal: return internal_type;
    case ErrorKind::interrupted: return PyExc_KeyboardInterrupt;
    case ErrorKind::unsupported: return unsupported_type;
    case ErrorKind::bad_input: break;
  }
  return error_type;
}

nb::dict fields_of(const Diagnostic& one) {
  nb::dict fields;
  fields["id"] = std::string(one.entry->id);
  fields["name"] = std::string(one.entry->name);
  fields["kind"] = std::string(report::name_of(one.entry->kind));
  for (const auto& [name, text] : one.parts()) fields[name] = *text;
  const auto [location, node] = report::place_of(one);
  fields["file"] = location.file;
  fields["line"] = location.line > 0 ? nb::cast(location.line) : nb::none();
  fields["node"] = node;
  return fields;
}

/// Makes the exception of `error`. Its attributes are the fields of the first diagnostic, and all diagnostics as dicts.
nb::object exception_of(const Error& error) {
  nb::object exception = nb::borrow(type_of(error.kind()))(std::string(error.what()));
  nb::list all;
  for (const Diagnostic& one : error.diagnostics()) all.append(fields_of(one));
  for (const auto [name, value] : fields_of(error.diagnostics().front())) nb::setattr(exception, name, value);
  nb::setattr(exception, "diagnostics", all);
  return exception;
}

[[noreturn]] void throw_exception(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

/// Makes the exception of a catalogue entry, for errors that Python raises.
nb::object make_error(const std::string& name, nb::args values) {
  std::vector<Text> texts;
  for (const nb::handle value : values) texts.emplace_back(nb::cast<std::string>(nb::str(value)));
  const ErrorEntry& entry = api::explain(name);
  if (texts.size() != entry.takes.size())
    throw_exception(PyExc_TypeError,
                    fmt::format("{} takes {} values, found {}", name, entry.takes.size(), texts.size()));
  return exception_of(Error(fill(entry, texts)));
}

}  // namespace

void define_errors(nb::module_& module) {
  error_type = new_exception(
      module, "Error",
      "An input or an option is wrong. Attributes: id ('HS2107', for halfstep.explain), name, kind, where, "
      "problem, found, expected, remedy, layer, file, node. Each is a text, '' if it does not apply. "
      "line is the number of the line in the file, or None. diagnostics holds all problems, each as a "
      "dict of these attributes.",
      PyExc_ValueError);
  for (const char* field :
       {"id", "name", "kind", "layer", "where", "problem", "found", "expected", "remedy", "file", "node"})
    nb::setattr(error_type, field, nb::str(""));
  nb::setattr(error_type, "line", nb::none());
  nb::setattr(error_type, "diagnostics", nb::tuple());
  unsupported_type =
      new_exception(module, "UnsupportedError",
                    "The request is correct, but Halfstep or the platform does not support it.", error_type);
  internal_type =
      new_exception(module, "InternalError",
                    "A defect of Halfstep. No input should cause it. Please report the message.", PyExc_RuntimeError);
  absent_type = new_exception(module, "AbsentResultError",
                              "The attributes of the call disable the result that was read.", PyExc_AttributeError);
  module.def("error", &make_error, nb::arg("name"), nb::arg("values"));
  module.def(
      "explain", [](const std::string& id) { return report::as_text(api::explain(id)); }, nb::arg("id"));
}

void set_exception() {
  capture::note_all_extents();  // A captured function may depend on the message.
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    const nb::object exception = exception_of(error);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void throw_absent(const std::string& message) { throw_exception(absent_type, message); }
void throw_type_error(const std::string& message) { throw_exception(PyExc_TypeError, message); }

}  // namespace halfstep::python

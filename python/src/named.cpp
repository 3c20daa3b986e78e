#include "python/src/named.h"

#include <fmt/format.h>

#include <new>

#include "python/src/errors.h"

namespace halfstep::python {
namespace {

PyTypeObject* named_type = nullptr;

/// Results as attributes by port name, and as a sequence of those that were produced.
struct Named {
  PyObject_VAR_HEAD  // NOLINT: ob_size holds the number of ports
      const OpInfo* info;
  std::shared_ptr<const Attributes> attributes;
  PyObject* names;
  PyObject* items[1];  ///< by port; nullptr where not produced
};

Named* as_named(PyObject* self) { return reinterpret_cast<Named*>(self); }

template <class Visit>
void for_produced(PyObject* self, const Visit& visit) {
  for (Py_ssize_t port = 0; port < Py_SIZE(self); ++port) {
    if (as_named(self)->items[port] != nullptr) visit(port, as_named(self)->items[port]);
  }
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  for_produced(self, [](Py_ssize_t, PyObject* item) { Py_DECREF(item); });
  Py_XDECREF(as_named(self)->names);
  as_named(self)->attributes.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

Py_ssize_t length(PyObject* self) {
  Py_ssize_t count = 0;
  for_produced(self, [&](Py_ssize_t, PyObject*) { ++count; });
  return count;
}

PyObject* item(PyObject* self, Py_ssize_t index) {
  PyObject* found = nullptr;
  for_produced(self, [&](Py_ssize_t, PyObject* object) {
    if (index-- == 0) found = object;
  });
  if (found == nullptr) {
    PyErr_SetString(PyExc_IndexError, "result index out of range");
    return nullptr;
  }
  Py_INCREF(found);
  return found;
}

/// Port names are interned, so the first loop compares addresses. A second loop compares other strings.
Py_ssize_t port_of(PyObject* self, PyObject* name) {
  PyObject* names = as_named(self)->names;
  for (Py_ssize_t port = 0; port < Py_SIZE(self); ++port) {
    if (PyTuple_GET_ITEM(names, port) == name) return port;
  }
  for (Py_ssize_t port = 0; port < Py_SIZE(self); ++port) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(names, port), name) == 0) return port;
  }
  return -1;
}

PyObject* attribute(PyObject* self, PyObject* name) {
  const Py_ssize_t port = port_of(self, name);
  if (port < 0) return PyObject_GenericGetAttr(self, name);
  PyObject* found = as_named(self)->items[port];
  if (found != nullptr) {
    Py_INCREF(found);
    return found;
  }
  try {
    const OpInfo& info = *as_named(self)->info;
    throw_absent(fmt::format("{} is not produced{}", info.outputs[static_cast<size_t>(port)].name,
                             info.absent_output_reason(static_cast<int>(port), *as_named(self)->attributes)));
  } catch (...) {
    set_exception();
    return nullptr;
  }
}

PyObject* represent(PyObject* self) {
  try {
    nb::str text(as_named(self)->info->name.c_str());
    const char* separator = "(";
    for_produced(self, [&](Py_ssize_t port, PyObject* object) {
      const nb::handle name = PyTuple_GET_ITEM(as_named(self)->names, port);
      text = nb::str("{}{}{}={}").format(text, separator, name, nb::repr(nb::handle(object)));
      separator = ", ";
    });
    return nb::str("{})").format(text).release().ptr();
  } catch (...) {
    set_exception();
    return nullptr;
  }
}

PyObject* list_names(PyObject* self, PyObject*) {
  try {
    nb::list names;
    for_produced(self, [&](Py_ssize_t port, PyObject*) {
      names.append(nb::handle(PyTuple_GET_ITEM(as_named(self)->names, port)));
    });
    return names.release().ptr();
  } catch (...) {
    set_exception();
    return nullptr;
  }
}

/// Makes the same results with other objects, passed in order.
PyObject* with_items(PyObject* self, PyObject* items) {
  if (PyTuple_Check(items) == 0 || PyTuple_GET_SIZE(items) != length(self)) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple with the same number of results");
    return nullptr;
  }
  PyObject* object = named_type->tp_alloc(named_type, Py_SIZE(self));
  if (object == nullptr) return nullptr;
  Named* named = as_named(object);
  named->info = as_named(self)->info;
  new (&named->attributes) std::shared_ptr<const Attributes>(as_named(self)->attributes);
  named->names = nb::borrow(as_named(self)->names).release().ptr();
  Py_ssize_t next = 0;
  for_produced(self, [&](Py_ssize_t port, PyObject*) {
    named->items[port] = nb::borrow(PyTuple_GET_ITEM(items, next++)).release().ptr();
  });
  return object;
}

PyMethodDef methods[] = {{"__dir__", list_names, METH_NOARGS, nullptr},
                         {"with_items", with_items, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_getattro, reinterpret_cast<void*>(attribute)},
    {Py_tp_repr, reinterpret_cast<void*>(represent)},
    {Py_tp_methods, methods},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {Py_sq_item, reinterpret_cast<void*>(item)},
    {Py_tp_doc, const_cast<char*>("The results of an operator by name, and in order: those that its attributes do not "
                                  "switch off. Asking for another one raises AbsentResultError.")},
    {0, nullptr},
};

PyType_Spec spec = {"halfstep.Results", sizeof(Named) - sizeof(PyObject*), sizeof(PyObject*),
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

void define_named(nb::module_& module) {
  const nb::object type = owned(PyType_FromSpec(&spec));
  named_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  Py_INCREF(named_type);
  module.attr("Results") = type;
}

nb::object named_results(std::vector<nb::object> results, nb::handle names, const OpInfo& info,
                         std::shared_ptr<const Attributes> attributes) {
  const Py_ssize_t ports = PyTuple_GET_SIZE(names.ptr());
  nb::object object = owned(named_type->tp_alloc(named_type, ports));
  Named* named = as_named(object.ptr());
  named->info = &info;
  new (&named->attributes) std::shared_ptr<const Attributes>(std::move(attributes));
  named->names = names.inc_ref().ptr();
  for (Py_ssize_t port = 0; port < ports; ++port)
    named->items[port] = results[static_cast<size_t>(port)].release().ptr();
  return object;
}

}  // namespace halfstep::python

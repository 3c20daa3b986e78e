#include "python/src/flat.h"

#include <algorithm>
#include <unordered_map>

#include "halfstep/api/errors.h"
#include "python/src/captured.h"

namespace halfstep::python {

void Flat::container(PyObject* list_or_dict) {
  const auto known = std::ranges::find(containers, list_or_dict);
  words.push_back(static_cast<uintptr_t>(known - containers.begin()));
  if (known == containers.end()) containers.push_back(list_or_dict);
}

bool is_plain(PyObject* value) {
  return value == Py_None || PyBool_Check(value) != 0 || PyLong_CheckExact(value) != 0 ||
         PyFloat_CheckExact(value) != 0 || PyUnicode_CheckExact(value) != 0 || PyBytes_CheckExact(value) != 0;
}

bool is_record(PyTypeObject* type) {
  static auto* known = new std::unordered_map<PyTypeObject*, bool>;  // holds references to the types
  if (const auto found = known->find(type); found != known->end()) return found->second;
  bool found = type->tp_dictoffset != 0 && PyObject_HasAttrString(nb::handle(type).ptr(), "__dataclass_fields__") != 0;
  for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    PyObject* slots = PyDict_GetItemString(base->tp_dict, "__slots__");
    const bool is_builtin = (base->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 && base != &PyBaseObject_Type;
    found = !is_builtin && (slots == nullptr || PyObject_IsTrue(slots) == 0);
  }
  Py_INCREF(type);
  known->emplace(type, found);
  return found;
}

namespace {

void flatten_items(PyObject* dict, Flat& flat, int depth) {
  flat.words.push_back(static_cast<uintptr_t>(PyDict_GET_SIZE(dict)));
  flat.container(dict);
  PyObject *key = nullptr, *item = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &item) != 0) {
    flatten(key, flat, depth + 1);
    flatten(item, flat, depth + 1);
  }
}

}  // namespace

void flatten(PyObject* value, Flat& flat, int depth) {
  if (depth > 100) fail(errors::containers_too_deep());
  if (as_array_of_ours(value) != nullptr) {
    flat.words.push_back(1);
    flat.arrays.push_back(value);
  } else if (PyList_CheckExact(value) != 0 || PyTuple_Check(value) != 0) {
    flat.words.push_back(reinterpret_cast<uintptr_t>(Py_TYPE(value)));
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
    flat.words.push_back(static_cast<uintptr_t>(count));
    if (PyList_CheckExact(value) != 0) flat.container(value);
    for (Py_ssize_t i = 0; i < count; ++i) flatten(PySequence_Fast_GET_ITEM(value, i), flat, depth + 1);
  } else if (PyDict_CheckExact(value) != 0) {
    flat.words.push_back(2);
    flatten_items(value, flat, depth);
  } else if (is_record(Py_TYPE(value))) {
    flat.words.push_back(5);
    flat.words.push_back(reinterpret_cast<uintptr_t>(Py_TYPE(value)));
    flatten_items(owned(PyObject_GenericGetDict(value, nullptr)).ptr(), flat, depth);  // the object keeps it
  } else {
    flat.words.push_back(is_plain(value) ? 3 : 4);
    flat.words.push_back(reinterpret_cast<uintptr_t>(Py_TYPE(value)));
    flat.constants.push_back(value);
  }
}

}  // namespace halfstep::python

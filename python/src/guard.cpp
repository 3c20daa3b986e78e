#include "python/src/guard.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "python/src/captured.h"
#include "python/src/flat.h"

namespace halfstep::python {
namespace {

/// Whether a value is a NumPy number. Its bits are its value.
bool is_number_of_numpy(PyObject* value) {
  const std::string_view name = Py_TYPE(value)->tp_name;
  return name.starts_with("numpy.") && name != "numpy.ndarray" && PyObject_HasAttrString(value, "tobytes") != 0;
}

/// Compares two objects by identity. None counts as nullptr.
bool is_one(PyObject* found, PyObject* expected) { return (found == nullptr ? Py_None : found) == expected; }

/// Returns an attribute without running code of the object's class. Invalid if it does not exist.
nb::object shown_by(PyObject* object, PyObject* name) {
  nb::object found = nb::steal(PyObject_GenericGetAttr(object, name));
  if (!found.is_valid()) PyErr_Clear();
  return found;
}

/// Whether this is the __dict__ of an object.
bool is_dict_of(PyObject* dict, PyObject* object) {
#if PY_VERSION_HEX < 0x030D0000
  PyObject** found = _PyObject_GetDictPtr(object);
  return found != nullptr && *found == dict;
#else
  const nb::object found = nb::steal(PyObject_GenericGetDict(object, nullptr));
  if (!found.is_valid()) PyErr_Clear();
  return found.ptr() == dict;
#endif
}

/// Counts the names that the classes define themselves.
Py_ssize_t names_of(PyObject* classes) {
  Py_ssize_t count = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i)
    count += PyDict_GET_SIZE(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(classes, i))->tp_dict);
  return count;
}

}  // namespace

bool is_same(PyObject* found, PyObject* expected) {
  if (found == expected) return true;
  if (Py_TYPE(found) != Py_TYPE(expected)) return false;
  if (is_number_of_numpy(found))
    return nb::handle(found).attr("tobytes")().equal(nb::handle(expected).attr("tobytes")());
  if (!is_plain(found)) return false;
  const int equal = PyObject_RichCompareBool(found, expected, Py_EQ);
  if (equal < 0) nb::raise_python_error();
  if (equal == 0) return false;
  return !PyFloat_CheckExact(found) ||
         std::signbit(PyFloat_AS_DOUBLE(found)) == std::signbit(PyFloat_AS_DOUBLE(expected));
}

std::string short_repr(PyObject* object) {
  return object == nullptr ? "nothing" : std::string(nb::repr(nb::handle(object)).c_str()).substr(0, 60);
}

Guard::Guard(const nb::tuple& given) : container_(given[1]), key_(given[2]), what_(nb::cast<std::string>(given[4])) {
  static constexpr std::string_view kKinds[] = {"dict",  "list",  "cell",   "attribute", "itself", "size", "keys",
                                                "items", "equal", "object", "function",  "type",   "shown"};
  const auto found = std::ranges::find(kKinds, nb::cast<std::string>(given[0]));
  HS_CHECK(found != std::end(kKinds));
  kind_ = static_cast<Kind>(found - std::begin(kKinds));
  const nb::tuple expected = nb::cast<nb::tuple>(given[3]);  // empty: absent
  if (expected.size() == 1) expected_ = expected[0];
  is_array_ = expected_.is_valid() && as_array_of_ours(expected_.ptr()) != nullptr;
}

nb::object Guard::find() const {
  switch (kind_) {
    case Kind::dict: return nb::borrow(PyDict_GetItem(container(), key_.ptr()));
    case Kind::list: {
      const Py_ssize_t at = PyLong_AsSsize_t(key_.ptr());
      return at < PyList_GET_SIZE(container()) ? nb::borrow(PyList_GET_ITEM(container(), at)) : nb::object();
    }
    case Kind::itself: return container_;
    case Kind::cell: return nb::borrow(PyCell_GET(container()));
    case Kind::attribute: {
      if (PyType_Check(container()) != 0)  // the type's own __dict__, not those of its bases
        return nb::borrow(PyDict_GetItem(reinterpret_cast<PyTypeObject*>(container())->tp_dict, key_.ptr()));
      return shown_by(container(), key_.ptr());
    }
    case Kind::shown: return shown_by(container(), key_.ptr());
    default: return {};
  }
}

/// Whether the keys are the same, in the same order.
bool Guard::has_keys() const {
  if (PyDict_GET_SIZE(container()) != PyTuple_GET_SIZE(key_.ptr())) return false;
  PyObject *found = nullptr, *item = nullptr;
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; PyDict_Next(container(), &at, &found, &item) != 0; ++i) {
    if (!is_same(found, PyTuple_GET_ITEM(key_.ptr(), i))) return false;
  }
  return true;
}

/// Whether the elements of a set are the same, in the order of iteration.
bool Guard::has_items() const {
  if (PySet_GET_SIZE(container()) != PyTuple_GET_SIZE(key_.ptr())) return false;
  const nb::object elements = owned(PySet_Type.tp_iter(container()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key_.ptr()); ++i) {
    const nb::object found = nb::steal(PyIter_Next(elements.ptr()));
    if (!found.is_valid() || !is_same(found.ptr(), PyTuple_GET_ITEM(key_.ptr(), i))) return false;
  }
  return true;
}

/// Whether the class and the __dict__ are the same. None as the __dict__: there is none.
bool Guard::is_object() const {
  if (reinterpret_cast<PyObject*>(Py_TYPE(container())) != PyTuple_GET_ITEM(key_.ptr(), 0)) return false;
  PyObject* attributes = PyTuple_GET_ITEM(key_.ptr(), 1);
  return attributes == Py_None || is_dict_of(attributes, container());
}

/// Whether code, defaults, __dict__ and names are the same.
bool Guard::is_function() const {
  const auto* function = reinterpret_cast<PyFunctionObject*>(container());
  PyObject* const parts[] = {function->func_code, function->func_defaults, function->func_kwdefaults,
                             function->func_dict, function->func_name,     function->func_qualname,
                             function->func_doc,  function->func_module};
  for (size_t i = 0; i < std::size(parts); ++i) {
    if (!is_one(parts[i], PyTuple_GET_ITEM(key_.ptr(), static_cast<Py_ssize_t>(i)))) return false;
  }
  return true;
}

/// Whether all names of a class are found as before. The expected value holds the class and its bases, the names that
/// were found, the names that were not found, and the number of names or None. The version of the class answers quickly
/// until it or a base changes.
bool Guard::is_type() const {
  auto* type = reinterpret_cast<PyTypeObject*>(container());
  const auto version = [&] {
    return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) != 0 ? type->tp_version_tag : 0;
  };
  if (version_ != 0 && version() == version_) return true;
  PyObject* bases = PyTuple_GET_ITEM(key_.ptr(), 0);
  if (PyTuple_GET_SIZE(type->tp_mro) != PyTuple_GET_SIZE(bases)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
    if (PyTuple_GET_ITEM(type->tp_mro, i) != PyTuple_GET_ITEM(bases, i)) return false;
  }
  PyObject *name = nullptr, *expected = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(PyTuple_GET_ITEM(key_.ptr(), 1), &at, &name, &expected) != 0) {
    PyObject* found = _PyType_Lookup(type, name);
    if (found == nullptr || !is_same(found, expected)) return false;
  }
  PyObject* absent = PyTuple_GET_ITEM(key_.ptr(), 2);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(absent); ++i) {
    if (_PyType_Lookup(type, PyTuple_GET_ITEM(absent, i)) != nullptr) return false;
  }
  PyObject* count = PyTuple_GET_ITEM(key_.ptr(), 3);
  if (count != Py_None && PyLong_AsSsize_t(count) != names_of(bases)) return false;
  version_ = version();
  return true;
}

std::pair<std::string, std::string> Guard::compared() const {
  switch (kind_) {
    case Kind::size: return {std::to_string(PyList_GET_SIZE(container())), short_repr(key_.ptr())};
    case Kind::keys:
      return {short_repr(nb::list(nb::borrow<nb::dict>(container_).keys()).ptr()), short_repr(key_.ptr())};
    case Kind::object:
      return {short_repr(nb::handle(container()).type().ptr()), "the class and the __dict__ of the captured call"};
    case Kind::function:
      return {"changes", "the code, the defaults, the attributes and the names of the captured call"};
    case Kind::type: return {"changes", "the attributes and the bases of the captured call"};
    case Kind::items:
    case Kind::equal: return {"changes", "the values of the captured call"};
    default: return {short_repr(find().ptr()), is_array_ ? "an array" : short_repr(expected_.ptr())};
  }
}

bool Guard::holds(std::vector<PyObject*>& slots) const {
  switch (kind_) {
    case Kind::size: return PyList_GET_SIZE(container()) == PyLong_AsSsize_t(key_.ptr());
    case Kind::keys: return has_keys();
    case Kind::items: return has_items();
    case Kind::object: return is_object();
    case Kind::function: return is_function();
    case Kind::type: return is_type();
    case Kind::equal: {  // a value that may change in place, and a copy of it
      const int equal = PyObject_RichCompareBool(container(), key_.ptr(), Py_EQ);
      if (equal < 0) nb::raise_python_error();
      return equal == 1;
    }
    default: break;
  }
  const nb::object found = find();
  if (is_array_) {
    if (!found.is_valid() || as_array_of_ours(found.ptr()) == nullptr) return false;
    slots.push_back(found.ptr());
    return true;
  }
  if (!found.is_valid() || !expected_.is_valid()) return !found.is_valid() && !expected_.is_valid();
  return is_same(found.ptr(), expected_.ptr());
}

}  // namespace halfstep::python

#include "python/src/attributes.h"

#include <fmt/format.h>

#include "halfstep/api/errors.h"
#include "python/src/errors.h"

namespace halfstep::python {
namespace {

class Reader {
 public:
  Reader(const OpInfo& info, const AttributeInfo& attribute) : info_(info), attribute_(attribute) {}

  Attribute read(PyObject* value) const {
    if (PyBool_Check(value)) return value == Py_True;
    if (PyLong_Check(value)) return integer(value);
    if (PyFloat_Check(value)) return PyFloat_AS_DOUBLE(value);
    if (PyUnicode_Check(value)) return text(value);
    if (numpy_in_use()) {
      if (PyArray_IsScalar(value, Bool)) return PyObject_IsTrue(value) == 1;
      if (PyArray_IsScalar(value, Integer)) return integer(owned(PyNumber_Index(value)).ptr());
      if (PyArray_IsScalar(value, Floating)) return PyFloat_AS_DOUBLE(owned(PyNumber_Float(value)).ptr());
    }
    if (PySequence_Check(value)) return list(value);
    wrong(value);
  }

 private:
  [[noreturn]] void wrong(PyObject* value) const {
    throw_type_error(fmt::format("call: {}: attribute '{}' is of type {}, expected {}", info_.name, attribute_.name,
                                 Py_TYPE(value)->tp_name, type_name(attribute_.default_value)));
  }

  int64_t integer(PyObject* value) const {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) fail(errors::attribute_beyond_64_bits(info_.name, attribute_.name));
    if (number == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
    return number;
  }

  static std::string text(PyObject* value) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(value, &size);
    if (bytes == nullptr) nb::raise_python_error();
    return {bytes, static_cast<size_t>(size)};
  }

  Attribute list(PyObject* value) const {
    const nb::object items = owned(PySequence_Fast(value, "an attribute is not a sequence"));
    std::vector<int64_t> integers;
    std::vector<double> floats;
    std::vector<std::string> texts;
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(items.ptr());
    for (Py_ssize_t i = 0; i < size; ++i) {
      const Attribute item = read_item(PySequence_Fast_GET_ITEM(items.ptr(), i), value);
      if (const auto* number = std::get_if<int64_t>(&item)) {
        integers.push_back(*number);
        floats.push_back(static_cast<double>(*number));
      } else if (const auto* real = std::get_if<double>(&item)) {
        floats.push_back(*real);
      } else {
        texts.push_back(std::get<std::string>(item));
      }
    }
    if (integers.size() == static_cast<size_t>(size)) return integers;
    if (floats.size() == static_cast<size_t>(size)) return floats;
    if (texts.size() == static_cast<size_t>(size)) return texts;
    wrong(value);
  }

  Attribute read_item(PyObject* item, PyObject* list) const {
    const bool is_list = !PyUnicode_Check(item) && PySequence_Check(item) != 0;
    if (is_list || PyBool_Check(item)) wrong(list);
    Attribute value = read(item);
    if (std::holds_alternative<bool>(value)) wrong(list);
    return value;
  }

  const OpInfo& info_;
  const AttributeInfo& attribute_;
};

}  // namespace

Attribute attribute_of(PyObject* value, const OpInfo& info, const AttributeInfo& attribute) {
  return Reader(info, attribute).read(value);
}

}  // namespace halfstep::python

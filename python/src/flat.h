// Flattened arguments of a call, in a form that captured functions can compare.
#pragma once

#include <cstdint>
#include <vector>

#include "python/src/python.h"

namespace halfstep::python {

/// Flattened arguments: arrays in order, and the structure around them as words and constants to compare.
struct Flat {
  std::vector<PyObject*> arrays;           ///< borrowed
  std::vector<uintptr_t> words;            ///< kinds, lengths, types
  std::vector<PyObject*> constants;        ///< borrowed
  std::vector<PyObject*> containers = {};  ///< lists and dicts, which a function may change; borrowed

  /// Records a container. Calls match only if the same containers occur more than once.
  void container(PyObject* list_or_dict);
};

/// Appends a value with its contents. Throws Error for containers nested more than 100 deep.
void flatten(PyObject* value, Flat& flat, int depth = 0);

/// Whether equal values of this type can replace each other.
bool is_plain(PyObject* value);

/// Whether the objects of a type keep all of their state in their __dict__, and the type is made to be inspected, as
/// dataclasses are.
bool is_record(PyTypeObject* type);

}  // namespace halfstep::python

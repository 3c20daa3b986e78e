// Arguments of a call as what a captured function compares of them.
#pragma once

#include <cstdint>
#include <vector>

#include "python/src/python.h"

namespace halfstep::python {

/// Arguments of a call taken apart: arrays in order, and what they stood in, as words and constants that are compared.
struct Flat {
  std::vector<PyObject*> arrays;           ///< borrowed
  std::vector<uintptr_t> words;            ///< kinds, lengths, types
  std::vector<PyObject*> constants;        ///< borrowed
  std::vector<PyObject*> containers = {};  ///< lists and dicts, which a function may change; borrowed

  /// Whether one of them was met before is a part of what a call looks like.
  void container(PyObject* list_or_dict);
};

/// Appends a value, with what is in it. Throws Error for containers nested more than 100 deep.
void flatten(PyObject* value, Flat& flat, int depth = 0);

/// Whether a value is the same wherever it is equal.
bool is_plain(PyObject* value);

/// Whether all that objects of a type hold is in their __dict__, and they are made to be looked into: a dataclass.
bool is_record(PyTypeObject* type);

}  // namespace halfstep::python

// A guard: a place outside of the arguments that a captured function read, and the value expected there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "python/src/python.h"

namespace halfstep::python {

/// Whether a program made with one value is valid for the other: equal numbers of one type, or the same object.
bool is_same(PyObject* found, PyObject* expected);

/// The beginning of repr(), for messages. nullptr counts as absent.
std::string short_repr(PyObject* object);

/// A place outside of the arguments that the function read. It is an entry of a dict (of globals, of attributes) or of
/// a list, or a cell of a closure. It may also be the state of an object, a function or a class.
class Guard {
 public:
  /// Takes the tuple of `reads.py`: kind, container, key, expected value (empty tuple: absent), and name in messages.
  explicit Guard(const nb::tuple& given);

  /// Whether the place is unchanged. Appends the array to `slots` if it is an input.
  bool holds(std::vector<PyObject*>& slots) const;
  /// The value found and the value expected, for messages.
  std::pair<std::string, std::string> compared() const;
  /// Whether calls do not replace a value of this kind. A change that a call made there would be lost.
  bool is_kept() const { return kind_ >= Kind::equal; }

  PyObject* container() const { return container_.ptr(); }
  const std::string& what() const { return what_; }

 private:
  enum class Kind { dict, list, cell, attribute, itself, size, keys, items, equal, object, function, type, shown };

  nb::object find() const;  ///< invalid: absent
  bool has_keys() const;
  bool has_items() const;
  bool is_object() const;
  bool is_function() const;
  bool is_type() const;

  Kind kind_;
  nb::object container_, key_;
  nb::object expected_;           ///< invalid: absent
  bool is_array_ = false;         ///< An array of the same kind matches, because it is an input.
  std::string what_;              ///< "global SCALE"
  mutable unsigned version_ = 0;  ///< version of a class; while it is unchanged, the class is too
};

}  // namespace halfstep::python

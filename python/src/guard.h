// What a captured function read besides its arguments: a place, and what has to be there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "python/src/python.h"

namespace halfstep::python {

/// Equal, so that a program that was made with one is right for the other: equal numbers of one type, or one object.
bool is_same(PyObject* found, PyObject* expected);

/// The beginning of what repr() says, for messages; nullptr is nothing.
std::string short_repr(PyObject* object);

/// A place outside of the arguments that the function read: an entry of a dict (of globals, of attributes), of a list,
/// a cell of a closure; or what an object, a function or a class is.
class Guard {
 public:
  /// As `reads.py` has it: kind, container, key, what is there (nothing: an empty tuple), and its name in messages.
  explicit Guard(const nb::tuple& given);

  /// Whether all is as it was; an array that is an input is appended to `slots`.
  bool holds(std::vector<PyObject*>& slots) const;
  /// What is there, and what was expected, for messages.
  std::pair<std::string, std::string> compared() const;
  /// Whether it is of a kind that no call makes anew: what a call changed there would be lost.
  bool is_kept() const { return kind_ >= Kind::equal; }

  PyObject* container() const { return container_.ptr(); }
  const std::string& what() const { return what_; }

 private:
  enum class Kind { dict, list, cell, attribute, itself, size, keys, items, equal, object, function, type, shown };

  nb::object find() const;  ///< invalid: nothing is there
  bool has_keys() const;
  bool has_items() const;
  bool is_object() const;
  bool is_function() const;
  bool is_type() const;

  Kind kind_;
  nb::object container_, key_;
  nb::object expected_;           ///< invalid: nothing is there
  bool is_array_ = false;         ///< an array of the same kind will do: it is an input
  std::string what_;              ///< "global SCALE"
  mutable unsigned version_ = 0;  ///< of a class: as long as it has this one nothing changed
};

}  // namespace halfstep::python

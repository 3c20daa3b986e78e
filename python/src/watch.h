// What runs while a function is captured: every call of Python's on this thread is looked at.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "python/src/python.h"

namespace halfstep::python {

/// As long as it lives, `judge` is asked once about each code and each built-in function that is called while this
/// thread records: `judge(frame, function, is_of_known)`, where `function` is None for code of Python, which `frame`
/// begins to run, and `is_of_known` says whether code calls it that is known with all that it calls. It gives None for
/// what is known, True for code that is known with all that it calls, False for such as is where known code calls it,
/// or why what was captured does not hold for other calls, which ends up in `Trace::doubts`.
///
/// A profiler that was there sees everything as before. Garbage is not collected meanwhile, whose finalizers would be
/// taken for calls of the function.
class Watch {
 public:
  explicit Watch(nb::object judge);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Nothing is looked at from here on.
  void leave();

 private:
  static int on_event(PyObject* self, PyFrameObject* frame, int what, PyObject* argument);
  void look_at_code(PyFrameObject* frame);
  void look_at_function(PyFrameObject* frame, PyObject* function);
  /// Nothing where the judge doubts.
  std::optional<nb::object> judged(PyFrameObject* frame, PyObject* function, bool is_of_known);
  bool is_trusted(PyFrameObject* frame) const;

  nb::object judge_, before_argument_;
  Py_tracefunc before_ = nullptr;
  std::unordered_set<const void*> known_;    ///< code, and definitions of built-in functions
  std::unordered_set<const void*> trusted_;  ///< code of which calls are not looked at
  std::unordered_set<const void*> lent_;     ///< the same, where trusted code calls it
  std::vector<nb::object> kept_;             ///< all code, so that it lives
  nb::object self_;
  bool is_on_ = true, is_asking_ = false;
};

}  // namespace halfstep::python

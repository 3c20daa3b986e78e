// Judges every Python call on this thread while a function is captured.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "python/src/python.h"

namespace halfstep::python {

/// While it lives, `judge` is called once for each code object and each built-in function that this thread calls while
/// it records. The call is `judge(frame, function, is_of_known)`. For Python code, `function` is None and `frame`
/// begins to run the code. `is_of_known` tells whether the caller is known together with all its calls. The result is
/// None for a known function, True for code that is known with all its calls, and False for code that is known only
/// when known code calls it. Any other result is the reason why the capture is not valid for other calls, and goes into
/// `Trace::doubts`.
///
/// A profiler that was active before still sees all calls. Garbage collection is off meanwhile, because calls of
/// finalizers would count as calls of the function.
class Watch {
 public:
  explicit Watch(nb::object judge);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Stops watching.
  void leave();

 private:
  static int on_event(PyObject* self, PyFrameObject* frame, int what, PyObject* argument);
  void look_at_code(PyFrameObject* frame);
  void look_at_function(PyFrameObject* frame, PyObject* function);
  /// Empty if the judge doubts the call.
  std::optional<nb::object> judged(PyFrameObject* frame, PyObject* function, bool is_of_known);
  bool is_trusted(PyFrameObject* frame) const;

  nb::object judge_, before_argument_;
  Py_tracefunc before_ = nullptr;
  std::unordered_set<const void*> known_;    ///< code objects, and definitions of built-in functions
  std::unordered_set<const void*> trusted_;  ///< code whose calls are not judged
  std::unordered_set<const void*> lent_;     ///< code whose calls are not judged if trusted code calls it
  std::vector<nb::object> kept_;             ///< keeps all code objects alive
  nb::object self_;
  bool is_on_ = true, is_asking_ = false;
};

}  // namespace halfstep::python

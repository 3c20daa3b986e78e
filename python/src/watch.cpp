#include "python/src/watch.h"

#include <nanobind/stl/string.h>

namespace halfstep::python {
namespace {

int watches = 0;  ///< number in all threads
bool collected = false;

nb::object code_of(PyFrameObject* frame) { return nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame))); }

}  // namespace

Watch::Watch(nb::object judge) : judge_(std::move(judge)) {
  if (watches++ == 0) collected = PyGC_Disable() != 0;
  const PyThreadState* thread = PyThreadState_Get();
  before_ = thread->c_profilefunc;
  before_argument_ = nb::borrow(thread->c_profileobj);
  self_ = owned(PyCapsule_New(this, nullptr, nullptr));
  PyEval_SetProfile(&Watch::on_event, self_.ptr());
}

Watch::~Watch() { leave(); }

void Watch::leave() {
  if (!is_on_) return;
  is_on_ = false;
  if (PyThreadState_Get()->c_profileobj == self_.ptr()) PyEval_SetProfile(before_, before_argument_.ptr());
  if (--watches == 0 && collected) PyGC_Enable();
}

int Watch::on_event(PyObject* self, PyFrameObject* frame, int what, PyObject* argument) {
  auto* watch = static_cast<Watch*>(PyCapsule_GetPointer(self, nullptr));
  const bool is_call = what == PyTrace_CALL || what == PyTrace_C_CALL;
  const capture::Trace* trace = is_call && !watch->is_asking_ ? capture::Trace::current() : nullptr;
  if (trace != nullptr && trace->doubts().empty()) {
    watch->is_asking_ = true;
    try {
      what == PyTrace_CALL ? watch->look_at_code(frame) : watch->look_at_function(frame, argument);
    } catch (nb::python_error& error) {
      error.restore();
    }
    watch->is_asking_ = false;
    if (PyErr_Occurred() != nullptr) return -1;
  }
  return watch->before_ == nullptr ? 0 : watch->before_(watch->before_argument_.ptr(), frame, what, argument);
}

std::optional<nb::object> Watch::judged(PyFrameObject* frame, PyObject* function, bool is_of_known) {
  nb::object found = judge_(nb::handle(reinterpret_cast<PyObject*>(frame)), nb::handle(function), is_of_known);
  if (!nb::isinstance<nb::str>(found)) return found;
  capture::Trace::current()->doubt(nb::cast<std::string>(found));
  return std::nullopt;
}

bool Watch::is_trusted(PyFrameObject* frame) const {
  if (frame == nullptr) return false;
  const nb::object code = code_of(frame);
  return trusted_.contains(code.ptr()) || lent_.contains(code.ptr());
}

void Watch::look_at_code(PyFrameObject* frame) {
  const nb::object code = code_of(frame);
  if (known_.contains(code.ptr()) || trusted_.contains(code.ptr())) return;
  const nb::object caller = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
  const bool is_of_known = is_trusted(reinterpret_cast<PyFrameObject*>(caller.ptr()));
  if (is_of_known && lent_.contains(code.ptr())) return;
  const std::optional<nb::object> found = judged(frame, Py_None, is_of_known);
  if (!found) return;
  (found->is_none() ? known_ : found->ptr() == Py_True ? trusted_ : lent_).insert(code.ptr());
  kept_.push_back(code);
}

void Watch::look_at_function(PyFrameObject* frame, PyObject* function) {
  if (PyCFunction_Check(function) == 0) return;
  const void* definition = reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
  if (known_.contains(definition) || is_trusted(frame)) return;
  if (judged(frame, function, false)) known_.insert(definition);
}

}  // namespace halfstep::python

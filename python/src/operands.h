// Python objects as operands.
#pragma once

#include <vector>

#include "python/src/python.h"

#include "halfstep/base/small_vector.h"

namespace halfstep::python {

/// The operands of one call. Memory is taken as it is where it is dense, in C order, aligned to its elements and in
/// native byte order, and copied where it is not. What the views show stays alive as long as this; the GIL is held at
/// both ends.
class Operands {
 public:
  Operands(const OpInfo& info, size_t count) : info_(info), views_(count), owners_(count) {}

  /// None is an absent operand. Throws TypeError for what is no tensor at all; Error for one whose dtype Halfstep does
  /// not have or that is not in the memory of the host.
  void set(size_t position, PyObject* object);

  std::span<const kernels::ConstView> views() { return views_.all(); }
  /// The first operand that is not NumPy's: the kind of tensor that results become. Borrowed; nullptr when there is
  /// none.
  PyObject* foreign() const { return foreign_; }

 private:
  const std::string& port(size_t position) const;
  void set_array(size_t position, PyArrayObject* array);
  void set_copy(size_t position, PyArrayObject* array, DType dtype);
  void set_dlpack(size_t position, PyObject* object);
  void show(size_t position, PyArrayObject* array, DType dtype);

  const OpInfo& info_;
  SmallVector<kernels::ConstView> views_;
  SmallVector<nb::object> owners_;
  PyObject* foreign_ = nullptr;
};

}  // namespace halfstep::python

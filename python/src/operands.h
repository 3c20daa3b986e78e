// Python objects as operands.
#pragma once

#include <vector>

#include "python/src/python.h"

#include "halfstep/core/base/small_vector.h"

namespace halfstep::python {

/// Memory of another library, described by DLPack or the buffer protocol.
struct Strided {
  const std::byte* data;
  DType dtype;
  std::span<const int64_t> dims;
  const int64_t* strides;  ///< in units; nullptr: dense
  int64_t unit;            ///< bytes

  bool is_empty() const;
  /// Whether it is in C order and aligned to its elements.
  bool is_dense() const;
  /// Copies the elements in C order. Returns the end of the copy.
  std::byte* copy(std::byte* to) const;
};

/// The operands of one call of `name`. Messages use the names of its ports. Memory is used directly if it is dense, in
/// C order, aligned to its elements and in native byte order. Otherwise it is copied. The viewed memory lives as long
/// as this object. Construct and destroy it with the GIL held.
class Operands {
 public:
  Operands(std::string_view name, std::span<const PortInfo> ports, size_t count)
      : name_(name), ports_(ports), views_(count), owners_(count) {}

  /// Sets an operand. None is an absent one. Throws TypeError if the object is not a tensor. Throws Error if Halfstep
  /// does not have its dtype, or if it is not in host memory.
  void set(size_t position, PyObject* object);

  std::span<const kernels::ConstView> views() { return views_.all(); }
  /// The first operand that supports DLPack and is not a NumPy array. Results become tensors of its library. Borrowed,
  /// or nullptr if there is none.
  PyObject* foreign() const { return foreign_; }
  /// Whether a PyTorch tensor among them requires a gradient.
  bool require_gradient() const { return require_gradient_; }
  /// Whether one of them is a placeholder without contents, from a PyTorch trace of a module.
  bool traced() const { return traced_; }

 private:
  const std::string& port(size_t position) const;
  void set_array(size_t position, PyArrayObject* array);
  void set_copy(size_t position, PyArrayObject* array, DType dtype);
  void set_dlpack(size_t position, PyObject* object);
  void set_buffer(size_t position, PyObject* object);
  void show(size_t position, PyArrayObject* array, DType dtype);
  void show(size_t position, const Strided& memory);

  std::string_view name_;
  std::span<const PortInfo> ports_;
  SmallVector<kernels::ConstView> views_;
  SmallVector<nb::object> owners_;
  PyObject* foreign_ = nullptr;
  bool require_gradient_ = false;
  bool traced_ = false;
};

}  // namespace halfstep::python

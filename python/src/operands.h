// Python objects as operands.
#pragma once

#include <vector>

#include "python/src/python.h"

#include "halfstep/core/base/small_vector.h"

namespace halfstep::python {

/// Memory of others as DLPack and the buffer protocol tell of it.
struct Strided {
  const std::byte* data;
  DType dtype;
  std::span<const int64_t> dims;
  const int64_t* strides;  ///< in units; nullptr: dense
  int64_t unit;            ///< bytes

  bool is_empty() const;
  /// In C order and aligned to its elements.
  bool is_dense() const;
  /// Its elements in C order; returns where they end.
  std::byte* copy(std::byte* to) const;
};

/// The operands of one call of `name`, whose ports say what they are called in messages. Memory is taken as it is where
/// it is dense, in C order, aligned to its elements and in native byte order, and copied where it is not. What the
/// views show stays alive as long as this; the GIL is held at both ends.
class Operands {
 public:
  Operands(std::string_view name, std::span<const PortInfo> ports, size_t count)
      : name_(name), ports_(ports), views_(count), owners_(count) {}

  /// None is an absent operand. Throws TypeError for what is no tensor at all; Error for one whose dtype Halfstep does
  /// not have or that is not in the memory of the host.
  void set(size_t position, PyObject* object);

  std::span<const kernels::ConstView> views() { return views_.all(); }
  /// The first operand that speaks DLPack and is not NumPy's: the kind of tensor that results become. Borrowed; nullptr
  /// when there is none.
  PyObject* foreign() const { return foreign_; }
  /// Whether one of them is a tensor of PyTorch that requires a gradient.
  bool require_gradient() const { return require_gradient_; }
  /// Whether one of them stands for a tensor while PyTorch follows a module, and has no contents.
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

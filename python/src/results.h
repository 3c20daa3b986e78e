// Results of the library as Python objects.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "python/src/python.h"

#include "halfstep/core/base/small_vector.h"

namespace halfstep::python {

/// Memory for the results of one call, and the objects made of them. With `like` they are tensors of its library, if it
/// has a from_dlpack. Otherwise they are NumPy arrays. If neither is available, they are tensors that support DLPack
/// and the buffer protocol.
class Results {
 public:
  /// Throws if an array or memory cannot be allocated.
  Results(const eager::Prepared& prepared, PyObject* like);

  /// Views by port, aligned for the kernels.
  std::span<const kernels::View> views() { return views_.all(); }
  /// Returns a result after the call. Null if the attributes disable it.
  nb::object object(size_t port);

 private:
  /// Results of at most this many bytes are copied into NumPy's memory, which costs less than an owner.
  static constexpr size_t kSmall = 512, kMostSmall = 4;

  void make_small(size_t port, const Type& type);
  void make(size_t port, const Type& type);

  const eager::Prepared& prepared_;
  PyObject* like_;
  bool numpy_;
  SmallVector<kernels::View> views_;
  SmallVector<nb::object> arrays_;
  std::vector<Tensor> tensors_;  ///< by port; empty for NumPy
  size_t small_ = 0;
  alignas(kAlignment) std::byte memory_[kMostSmall][kSmall];
};

/// Makes a NumPy array that shares and keeps the tensor's memory. Codes of fewer than 8 bits are masked as in
/// ml_dtypes. Without NumPy it makes a tensor that supports DLPack and the buffer protocol.
nb::object array_of(Tensor tensor);

}  // namespace halfstep::python

// Results of the library as Python objects.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "python/src/python.h"

#include "halfstep/core/base/small_vector.h"

namespace halfstep::python {

/// Memory for the results of one call, and the objects that they become: with `like` tensors of its library (where that
/// has a from_dlpack), else NumPy arrays; where that cannot be had, tensors that speak DLPack and the buffer protocol.
class Results {
 public:
  /// Throws where an array or the memory cannot be had.
  Results(const eager::Prepared& prepared, PyObject* like);

  /// By port, aligned as kernels expect.
  std::span<const kernels::View> views() { return views_.all(); }
  /// After the call; null where the attributes switch the result off.
  nb::object object(size_t port);

 private:
  /// Results of so few bytes are copied into memory of NumPy's, which costs less than an owner.
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

/// A NumPy array that shows the tensor's memory and keeps it; codes of fewer than 8 bits are masked as ml_dtypes does.
/// Without NumPy a tensor that speaks DLPack and the buffer protocol.
nb::object array_of(Tensor tensor);

}  // namespace halfstep::python

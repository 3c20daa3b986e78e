// Scales and zero points in memory, in any type that an operator takes.
#pragma once

#include "halfstep/core/base/host_device.h"
#include "halfstep/core/base/small_float.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

/// Elements of f16, bf16, f32, f64, i32 or i64, for the host and for CUDA.
struct Numbers {
  const void* data = nullptr;
  DType dtype = DType::f32;

  Numbers() = default;
  explicit Numbers(const ConstView& view) : data(view.data), dtype(view.dtype) {}

  /// Element `index` as a `C`, converted once.
  template <class C>
  HS_HOST_DEVICE C at(int64_t index) const {
    switch (dtype) {
      case DType::f64: return static_cast<C>(static_cast<const double*>(data)[index]);
      case DType::f16: return static_cast<C>(static_cast<float>(static_cast<const Half*>(data)[index]));
      case DType::bf16: return static_cast<C>(static_cast<float>(static_cast<const BFloat16*>(data)[index]));
      case DType::i32: return static_cast<C>(static_cast<const int32_t*>(data)[index]);
      case DType::i64: return static_cast<C>(static_cast<const int64_t*>(data)[index]);
      default: return static_cast<C>(static_cast<const float*>(data)[index]);
    }
  }
};

}  // namespace halfstep::kernels

// Conversion of half precision on a device: one instruction, with the results of core/base/small_float.h.
#pragma once

#include "halfstep/core/base/host_device.h"
#include "halfstep/engine/kernels/common/float_types.h"

namespace halfstep::kernels::cuda {

/// Converts an element to its type of computation.
template <class T>
HS_HOST_DEVICE Compute<T> widened(T x) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<T, Half>) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
  }
#endif
  return static_cast<Compute<T>>(x);
}

/// Rounds once, half to even.
template <class T>
HS_HOST_DEVICE T narrowed(Compute<T> x) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<T, Half>) {
    Half half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(x));
    return half;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    BFloat16 half;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half.bits) : "f"(x));
    return half;
  }
#endif
  return T(x);
}

}  // namespace halfstep::kernels::cuda

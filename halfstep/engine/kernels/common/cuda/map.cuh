// Elementwise kernels with parameters: one read of each operand, one write. Vectors have 16 bytes if all operands are
// aligned. A thread loads several vectors before it computes.
#pragma once

#include <type_traits>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/cuda/float_types.cuh"
#include "halfstep/engine/kernels/common/cuda/launch.cuh"
#include "halfstep/engine/kernels/common/cuda/parameter_layout.h"

namespace halfstep::kernels::cuda {

/// Neighbours in memory that are moved at once.
template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth) Pack {
  T at[kWidth];
};

template <class T, int kWidth>
bool is_aligned(const T* data) {
  return reinterpret_cast<uintptr_t>(data) % sizeof(Pack<T, kWidth>) == 0;
}

/// Vectors that a thread loads at once.
inline constexpr int kPacks = 2;

/// dst[i] = function(p, src[i]), with second[i] as a further argument if given. If all elements share their Parameters,
/// p is function.single(). Otherwise it is function.parameters(offset of element i in `layout`).
template <class Function, class U, class T>
struct Map {
  static constexpr bool kTwo = std::is_invocable_v<const Function&, const typename Function::Parameters&, T, T>;
  static constexpr int kWidth = 16 / static_cast<int>(sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U));
  using Parameters = typename Function::Parameters;
  using Operand = Pack<T, kWidth>;
  using Result = Pack<U, kWidth>;

  Function function;
  Layout layout;
  const T *src, *second;
  U* dst;

  bool is_packed() const {
    return is_aligned<T, kWidth>(src) && (!kTwo || is_aligned<T, kWidth>(second)) && is_aligned<U, kWidth>(dst);
  }

  HS_HOST_DEVICE U element(const Parameters& parameters, T x, T y) const {
    if constexpr (kTwo) {
      return function(parameters, x, y);
    } else {
      return function(parameters, x);
    }
  }
  HS_HOST_DEVICE Operand load(const T* from, int64_t i) const { return *reinterpret_cast<const Operand*>(from + i); }

  /// Stores kWidth elements from element i on. If `single`, all have the parameters `one`.
  HS_HOST_DEVICE void store(int64_t i, const Operand& x, const Operand& y, bool single, const Parameters& one) const {
    Result result;
    if (single || layout.is_even(kWidth)) {
      const Parameters shared = single ? one : function.parameters(Cursor(layout, i).parameters());
      for (int k = 0; k < kWidth; ++k) result.at[k] = element(shared, x.at[k], y.at[k]);
    } else {
      Cursor cursor(layout, i);
      for (int k = 0; k < kWidth; ++k) {
        result.at[k] = element(function.parameters(cursor.parameters()), x.at[k], y.at[k]);
        cursor.advance();
      }
    }
    *reinterpret_cast<Result*>(dst + i) = result;
  }

  HS_HOST_DEVICE void store_one(int64_t i, bool single, const Parameters& one) const {
    const T y = kTwo ? second[i] : T();
    dst[i] = element(single ? one : function.parameters(Cursor(layout, i).parameters()), src[i], y);
  }
};

template <class Work>
__global__ void __launch_bounds__(kThreads) map_kernel(Work work, int64_t size, bool packed) {
  constexpr int kWidth = Work::kWidth;
  constexpr int64_t kTile = int64_t{kThreads} * kWidth * kPacks;
  const bool single = work.layout.is_single();
  typename Work::Parameters one{};
  if (single) one = work.function.single();
  for (int64_t tile = blockIdx.x * kTile; tile < size; tile += gridDim.x * kTile) {
    const int64_t end = tile + kTile < size ? tile + kTile : size;
    if (packed && end - tile == kTile) {
      const int64_t begin = tile + static_cast<int64_t>(threadIdx.x) * kWidth;
      typename Work::Operand x[kPacks], y[kPacks];
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        x[p] = work.load(work.src, begin + p * kThreads * kWidth);
        if constexpr (Work::kTwo) y[p] = work.load(work.second, begin + p * kThreads * kWidth);
      }
#pragma unroll
      for (int p = 0; p < kPacks; ++p) work.store(begin + p * kThreads * kWidth, x[p], y[p], single, one);
    } else {
      for (int64_t i = tile + threadIdx.x; i < end; i += kThreads) work.store_one(i, single, one);
    }
  }
}

/// `second` is nullptr if `function` takes one operand.
template <class Function, class U, class T>
void map(int64_t size, const Layout& layout, const Function& function, U* dst, const T* src,
         const T* second = nullptr) {
  if (size == 0) return;
  using Work = Map<Function, U, T>;
  const Work work{function, layout, src, second, dst};
  constexpr int64_t kTile = int64_t{kThreads} * Work::kWidth * kPacks;
  launch(map_kernel<Work>, std::min(ceil_div(size, kTile), kMostBlocks), kThreads, work, size, work.is_packed());
}

}  // namespace halfstep::kernels::cuda

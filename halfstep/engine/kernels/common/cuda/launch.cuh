// Launches the CUDA kernels of all families: one call of a function object for each channel or each block. Launches use
// the default stream. The device waits for them and reports their errors. Tests also compile these files for the host,
// where tests/kernels/cuda_on_host.h replaces CUDA.
#pragma once

#include <algorithm>
#include <cstdint>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/float_types.h"

namespace halfstep::kernels::cuda {

inline constexpr int kThreads = 256;
/// Enough blocks to fill every multiprocessor of today's devices several times. Larger work loops.
inline constexpr int64_t kMostBlocks = 132 * 32;
/// Elements of a thread that are loaded at once, to hide the latency of memory.
inline constexpr int kUnroll = 4;

#ifdef __CUDACC__
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), int64_t blocks, int threads, const Arguments&... arguments) {
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads)>>>(arguments...);
}
#endif

template <class Work>
__global__ void __launch_bounds__(kThreads) channels_kernel(Work work, int64_t count) {
  const int64_t stride = int64_t{gridDim.x} * kThreads;
#pragma unroll 1
  for (int64_t c = int64_t{blockIdx.x} * kThreads + threadIdx.x; c < count; c += stride) work(c);
}

/// Calls work(c) for every c below count, in any order. A thread runs its calls one after another, not unrolled.
template <class Work>
void for_each_channel(int64_t count, const Work& work) {
  if (count == 0) return;
  launch(channels_kernel<Work>, std::min(ceil_div(count, kThreads), kMostBlocks), kThreads, work, count);
}

template <class Work>
__global__ void __launch_bounds__(kThreads) blocks_kernel(Work work, int64_t size) {
  for (int64_t block = blockIdx.x; block < size; block += gridDim.x) work(block);
}

/// Calls work(b) for every b below size, with a whole block of kThreads threads.
template <class Work>
void for_each_block(int64_t size, const Work& work) {
  if (size == 0) return;
  launch(blocks_kernel<Work>, std::min(size, kMostBlocks), kThreads, work, size);
}

template <class Work>
__global__ void once_kernel(Work work) {
  work();
}

/// Calls work() in one thread.
template <class Work>
void once(const Work& work) {
  launch(once_kernel<Work>, 1, 1, work);
}

/// Magnitude as an integer. Magnitudes that are not NaN keep their order.
inline __device__ unsigned magnitude_bits(float x) { return __float_as_uint(x) & 0x7FFFFFFFU; }
inline __device__ unsigned long long magnitude_bits(double x) {
  return static_cast<unsigned long long>(__double_as_longlong(x)) & 0x7FFFFFFFFFFFFFFFULL;
}
inline __device__ float magnitude_of(unsigned bits) { return __uint_as_float(bits); }
inline __device__ double magnitude_of(unsigned long long bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}
template <class C>
using MagnitudeBits = std::conditional_t<std::is_same_v<C, double>, unsigned long long, unsigned>;

/// The largest value among the threads of a block. Only thread 0 receives it.
template <class Bits>
__device__ Bits largest_of_block(Bits mine) {
  __shared__ Bits of_warps[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) mine = max(mine, __shfl_down_sync(0xFFFFFFFFU, mine, offset));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kThreads / 32; ++warp) mine = max(mine, of_warps[warp]);
  }
  __syncthreads();
  return mine;
}

}  // namespace halfstep::kernels::cuda

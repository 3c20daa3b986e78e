// Replaces CUDA when the sources of CUDA kernels are compiled as C++ for the host, so that machines without a GPU can
// run them. Device memory is host memory, the threads of a block run in turns, and a warp or block waits where CUDA
// requires it. Everything else follows CUDA's definitions, except speed, and races, which running in turns hides.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)

namespace cuda_on_host {

struct Index {
  unsigned x = 0;
};

/// Calls thread() for each thread of each block. A thread that waits for others that never arrive ends the program.
void run(unsigned blocks, unsigned threads, const std::function<void()>& thread);

/// Waits until all threads of the block, or of the warp, have arrived.
void wait_for_block();
void wait_for_warp();

/// 8 bytes of each lane of the current warp.
uint64_t& lane_value(int lane);
int lane();

/// Combines the values of all lanes of the warp once they have arrived. `combine(values)` reads lane k's value as
/// values(k).
template <class T, class Combine>
T exchange(T mine, const Combine& combine) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  std::memcpy(&lane_value(lane()), &mine, sizeof mine);
  wait_for_warp();
  const T result = combine([](int from) {
    T value;
    std::memcpy(&value, &lane_value(from), sizeof value);
    return value;
  });
  wait_for_warp();
  return result;
}

}  // namespace cuda_on_host

inline cuda_on_host::Index threadIdx, blockIdx, gridDim;

using std::max;
using std::min;

inline void __syncthreads() { cuda_on_host::wait_for_block(); }

template <class T>
T __shfl_sync(unsigned, T mine, int from) {
  return cuda_on_host::exchange(mine, [&](const auto& values) { return values(from); });
}
template <class T>
T __shfl_down_sync(unsigned, T mine, int offset) {
  const int from = cuda_on_host::lane() + offset;
  return cuda_on_host::exchange(mine, [&](const auto& values) { return from < 32 ? values(from) : mine; });
}
inline uint32_t __reduce_max_sync(unsigned, uint32_t mine) {
  return cuda_on_host::exchange(mine, [&](const auto& values) {
    uint32_t most = mine;
    for (int from = 0; from < 32; ++from) most = std::max(most, values(from));
    return most;
  });
}

template <class T>
void atomicMax(T* to, T value) {
  *to = std::max(*to, value);
}
template <class T>
void atomicMin(T* to, T value) {
  *to = std::min(*to, value);
}

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }

enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
inline void cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
inline void cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy(to, from, bytes, kind);
}
inline void cudaMemsetAsync(void* to, int value, size_t bytes) {
  if (bytes > 0) std::memset(to, value, bytes);
}

namespace halfstep::kernels::cuda {

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), int64_t blocks, int threads, const Arguments&... arguments) {
  cuda_on_host::run(static_cast<unsigned>(blocks), static_cast<unsigned>(threads), [&] { kernel(arguments...); });
}

}  // namespace halfstep::kernels::cuda

// The smallest and the largest element of each channel in one read. Both are found as the largest of two keys, so that
// neither the order nor the number of threads matters.
#pragma once

#include <bit>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/host_device.h"
#include "halfstep/engine/kernels/common/cuda/map.cuh"

namespace halfstep::kernels::cuda {

/// Maps numbers to integers of the same order. NaN is above all numbers, and 0 is below.
HS_HOST_DEVICE inline uint32_t key_of(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return 0xFFFFFFFFU;
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}
HS_HOST_DEVICE inline float of_key(uint32_t key) {
  if (key == 0xFFFFFFFFU) return std::bit_cast<float>(0x7FC00000U);
  return std::bit_cast<float>((key & 0x80000000U) != 0 ? key & 0x7FFFFFFFU : ~key);
}

/// Keys of the largest element and of the negated smallest. 0 means that there were no elements. NaN makes both NaN,
/// unless the fold ignores it.
struct Keys {
  uint32_t low = 0, high = 0;

  HS_HOST_DEVICE bool seen() const { return high != 0; }
  HS_HOST_DEVICE float lowest() const { return -of_key(low); }
  HS_HOST_DEVICE float highest() const { return of_key(high); }
};

/// Elements of a run that one warp searches.
inline constexpr int64_t kWarpElements = 4096;
inline constexpr int kWarp = 32;
/// Shorter runs are searched across rows, with one thread for each column of a row.
inline constexpr int64_t kShortRun = kWarp;
/// Rows that such a thread searches.
inline constexpr int64_t kColumnRows = 64;

/// The comparison can miss a concurrent store. The atomic operation does not.
__device__ inline void raise(uint32_t* key, uint32_t to) {
  if (to > *key) atomicMax(key, to);
}

/// `Fold` is default-constructed, takes elements in float32 and returns their Keys.
template <class Fold, class T, int kWidth>
__global__ void __launch_bounds__(kThreads) runs_kernel(const T* src, Channels channels, Keys* keys) {
  using Vector = Pack<T, kWidth>;
  const int64_t slices = ceil_div(channels.run, kWarpElements);
  const int64_t units = channels.outer * channels.count * slices;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  constexpr int64_t kStep = kWarp * kWidth;
  const int64_t warps = int64_t{gridDim.x} * (kThreads / kWarp);
  for (int64_t unit = int64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.x / kWarp; unit < units; unit += warps) {
    const int64_t run = unit / slices;
    const int64_t first = (unit - run * slices) * kWarpElements;
    const T* data = src + run * channels.run;
    const int64_t end = first + kWarpElements < channels.run ? first + kWarpElements : channels.run;
    Fold fold;
    const auto take = [&](const Vector& x) {
      for (int k = 0; k < kWidth; ++k) fold.take(static_cast<float>(widened(x.at[k])));
    };
    int64_t i = first + lane * kWidth;
    for (; i + (kUnroll - 1) * kStep + kWidth <= end; i += kUnroll * kStep) {
      Vector x[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) x[u] = *reinterpret_cast<const Vector*>(data + i + u * kStep);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) take(x[u]);
    }
    for (; i + kWidth <= end; i += kStep) take(*reinterpret_cast<const Vector*>(data + i));
    for (int64_t rest = i; rest < end && rest < i + kWidth; ++rest) fold.take(static_cast<float>(widened(data[rest])));
    const Keys mine = fold.keys();
    const uint32_t low = __reduce_max_sync(0xFFFFFFFFU, mine.low);
    const uint32_t high = __reduce_max_sync(0xFFFFFFFFU, mine.high);
    if (lane != 0) continue;
    Keys* channel = keys + run % channels.count;
    raise(&channel->low, low);
    raise(&channel->high, high);
  }
}

/// Placement of thread blocks over rows of short runs. Several blocks share a row that is longer than a block. A block
/// covers several rows that are shorter.
struct Columns {
  int64_t row, width, tiles, lanes, rows_per_block;

  explicit Columns(const Channels& channels)
      : row(channels.count * channels.run),
        width(std::min<int64_t>(row, kThreads)),
        tiles(ceil_div(row, width)),
        lanes(kThreads / width),
        rows_per_block(lanes * kColumnRows) {}
  int64_t blocks(int64_t rows) const { return ceil_div(rows, rows_per_block) * tiles; }
};

template <class Fold, class T>
__global__ void __launch_bounds__(kThreads)
    columns_kernel(const T* src, Channels channels, Columns columns, int64_t blocks, Keys* keys) {
  const int64_t lane = threadIdx.x / columns.width;
  if (lane >= columns.lanes) return;
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t segment = block / columns.tiles;
    const int64_t column = (block - segment * columns.tiles) * columns.width + threadIdx.x - lane * columns.width;
    if (column >= columns.row) continue;
    const int64_t first = segment * columns.rows_per_block;
    const int64_t end =
        first + columns.rows_per_block < channels.outer ? first + columns.rows_per_block : channels.outer;
    Fold fold;
#pragma unroll 4
    for (int64_t row = first + lane; row < end; row += columns.lanes)
      fold.take(static_cast<float>(widened(src[row * columns.row + column])));
    const Keys mine = fold.keys();
    Keys* channel = keys + column / channels.run;
    raise(&channel->low, mine.low);
    raise(&channel->high, mine.high);
  }
}

/// Computes keys[c] of every channel.
template <class Fold, class T>
void find_keys(const T* src, const Channels& channels, Keys* keys) {
  cudaMemsetAsync(keys, 0, static_cast<size_t>(channels.count) * sizeof(Keys));
  if (channels.size() == 0) return;
  if (channels.count > 1 && channels.run < kShortRun) {
    const Columns columns(channels);
    const int64_t blocks = columns.blocks(channels.outer);
    return launch(columns_kernel<Fold, T>, std::min(blocks, kMostBlocks), kThreads, src, channels, columns, blocks,
                  keys);
  }
  const int64_t slices = ceil_div(channels.run, kWarpElements);
  const int64_t warps = channels.outer * channels.count * slices;
  const int64_t blocks = std::min(ceil_div(warps * kWarp, kThreads), kMostBlocks);
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const bool every_run = channels.run % kWidth == 0 || channels.outer * channels.count == 1;
  if (every_run && is_aligned<T, kWidth>(src))
    return launch(runs_kernel<Fold, T, kWidth>, blocks, kThreads, src, channels, keys);
  launch(runs_kernel<Fold, T, 1>, blocks, kThreads, src, channels, keys);
}

}  // namespace halfstep::kernels::cuda

// Products of small matrices of f32 in tiles whose sums stay in registers. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_MATRIX_CPU_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_MATRIX_CPU_TILES_INL_H_
#undef HALFSTEP_KERNELS_MATRIX_CPU_TILES_INL_H_
#else
#define HALFSTEP_KERNELS_MATRIX_CPU_TILES_INL_H_
#endif

#include <algorithm>
#include <array>
#include <utility>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/simd/highway.h"
#include "halfstep/engine/kernels/matrix/cpu/tile_product.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::matrix::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Float = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Float>;
constexpr int64_t kLanes = hn::MaxLanes(Float());
/// Most rows of a tile, for 32 or 16 registers. Each row needs two sums, and the factors need three registers.
constexpr int kMostRows = HWY_TARGET == HWY_AVX3 ? 14 : 6;

/// Loads a vector. If not kWhole, memory has only `count` elements of it.
template <bool kWhole>
HWY_INLINE FloatVector load_some(const float* from, int64_t count) {
  if constexpr (kWhole) return hn::LoadU(Float(), from);
  return hn::MaskedLoad(hn::FirstN(Float(), static_cast<size_t>(count)), Float(), from);
}
template <bool kWhole>
HWY_INLINE void store_some(FloatVector value, float* to, int64_t count) {
  if constexpr (kWhole) return hn::StoreU(value, Float(), to);
  hn::BlendedStore(value, hn::FirstN(Float(), static_cast<size_t>(count)), Float(), to);
}

/// Computes one tile. kWhole: the last vector is whole.
template <int kRows, int kVectors, bool kWhole>
void tile(const TileProduct& p) {
  const Float d;
  const int64_t last = p.columns - (kVectors - 1) * kLanes;
  FloatVector sums[kRows][kVectors];
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  const float *a = p.a, *b = p.b;
  for (int64_t i = 0; i < p.depth; ++i, a += p.a_column, b += p.b_row) {
    FloatVector value[kVectors];
    if constexpr (kVectors == 2) value[0] = hn::LoadU(d, b);
    value[kVectors - 1] = load_some<kWhole>(b + (kVectors - 1) * kLanes, last);
#pragma GCC unroll 14
    for (int r = 0; r < kRows; ++r) {
      const FloatVector factor = hn::Set(d, a[r * p.a_row]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(factor, value[v], sums[r][v]);
    }
  }
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r) {
    const FloatVector factor = hn::Set(d, p.factors == nullptr ? p.factor : p.factors[r]);
    float* c = p.c + r * p.c_row;
    if constexpr (kVectors == 2) hn::StoreU(hn::Mul(sums[r][0], factor), d, c);
    store_some<kWhole>(hn::Mul(sums[r][kVectors - 1], factor), c + (kVectors - 1) * kLanes, last);
  }
}

using TileOf = void (*)(const TileProduct&);
using ByRows = std::array<TileOf, kMostRows>;
template <int kVectors, bool kWhole, int... kBefore>
constexpr ByRows tiles_of(std::integer_sequence<int, kBefore...>) {
  return {tile<kBefore + 1, kVectors, kWhole>...};
}
template <int kVectors, bool kWhole>
constexpr ByRows kTiles = tiles_of<kVectors, kWhole>(std::make_integer_sequence<int, kMostRows>());

inline const ByRows& tiles_of(int64_t columns) {
  const bool is_whole = columns % kLanes == 0;
  if (columns > kLanes) return is_whole ? kTiles<2, true> : kTiles<2, false>;
  return is_whole ? kTiles<1, true> : kTiles<1, false>;
}

/// Multiplies `rows` rows of a by all columns of b, in tiles of nearly equal size. Rows of b stay in the cache.
inline void multiply(const TileProduct& whole, int64_t rows) {
  const int64_t count = ceil_div(rows, kMostRows), least = rows / count, more = rows % count;
  for (int64_t column = 0; column < whole.columns; column += 2 * kLanes) {
    TileProduct part = whole;
    part.b += column;
    part.c += column;
    part.columns = std::min(2 * kLanes, whole.columns - column);
    const ByRows& tiles = tiles_of(part.columns);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t size = least + (i < more ? 1 : 0);
      tiles[static_cast<size_t>(size - 1)](part);
      part.a += size * part.a_row;
      part.c += size * part.c_row;
      if (part.factors != nullptr) part.factors += size;
    }
  }
}

}  // namespace halfstep::kernels::matrix::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_MATRIX_CPU_TILES_INL_H_

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/torch/cpu/range_search.cpp"
#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <algorithm>

#include "halfstep/engine/kernels/common/simd/elements-inl.h"
#include "halfstep/engine/kernels/quantizers/torch/cpu/range_search.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::torch::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = elements::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

/// Extremes by lane. NaN wins over every number, and stays.
struct LaneExtremes {
  // Written out, because a constructor that the compiler generates has no SIMD target.
  LaneExtremes() : low(hn::Set(F32(), kInfinity)), high(hn::Set(F32(), -kInfinity)) {}
  LaneExtremes(V32 l, V32 h) : low(l), high(h) {}

  HWY_INLINE void add(V32 x) {
    const auto is_nan = hn::IsNaN(x);
    low = hn::IfThenElse(hn::Or(hn::Lt(x, low), is_nan), x, low);
    high = hn::IfThenElse(hn::Or(hn::Gt(x, high), is_nan), x, high);
  }
  Extremes all() const {
    HWY_ALIGN float lows[hn::MaxLanes(F32())];
    HWY_ALIGN float highs[hn::MaxLanes(F32())];
    hn::Store(low, F32(), lows);
    hn::Store(high, F32(), highs);
    Extremes found;
    for (size_t i = 0; i < hn::Lanes(F32()); ++i) found = found.with({lows[i], highs[i]});
    return found;
  }

  V32 low, high;
};

template <class T>
Extremes extremes_of_run(const void* src_begin, int64_t begin, int64_t size) {
  constexpr int64_t kChains = 4;
  const F32 d;
  const T* src = static_cast<const T*>(src_begin) + begin;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  LaneExtremes found[kChains];
  int64_t i = 0;
  for (; i + kChains * lanes <= size; i += kChains * lanes) {
    for (int64_t k = 0; k < kChains; ++k) found[k].add(simd::load(d, src + i + k * lanes));
  }
  for (; i + lanes <= size; i += lanes) found[0].add(simd::load(d, src + i));
  Extremes all;
  for (const LaneExtremes& chain : found) all = all.with(chain.all());
  for (; i < size; ++i) {
    const auto x = static_cast<float>(src[i]);
    all = all.with({x, x});
  }
  return all;
}

template <class T, class Lanes>
HWY_INLINE void join_column(const T* src, float* low, float* high, Lanes lanes) {
  LaneExtremes found(hn::LoadU(F32(), low), hn::LoadU(F32(), high));
  found.add(simd::load(F32(), src, lanes));
  hn::StoreU(found.low, F32(), low);
  hn::StoreU(found.high, F32(), high);
}

template <class T>
void extremes_of_columns(const void* src_begin, int64_t begin, int64_t rows, int64_t row_size, int64_t count,
                         float* lows, float* highs) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F32()));
  const T* src = static_cast<const T*>(src_begin) + begin;
  for (int64_t row = 0; row < rows; ++row, src += row_size) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) join_column(src + i, lows + i, highs + i, simd::Whole());
    if (i < count) join_column(src + i, lows + i, highs + i, simd::Part{count - i});
  }
}

}  // namespace halfstep::kernels::torch::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels::torch {

RangeSearch::RangeSearch(const Watched& x, CpuLevel level) : channels_(x.channels), blocks_(x.blocks) {
  with_any_float(x.dtype, [&]<class T>() {
    run_ = HS_SIMD_CHOOSE(level, extremes_of_run<T>);
    columns_ = HS_SIMD_CHOOSE(level, extremes_of_columns<T>);
  });
  if (channels_.size() == 0 || channels_.run >= kShortRun || channels_.count == 1) return;
  chunk_channels_ = kMostColumns / channels_.run;
  chunks_ = ceil_div(channels_.count, chunk_channels_);
  block_rows_ = std::max<int64_t>(1, kPieceElements / std::min(row_size(), chunk_channels_ * channels_.run));
}

int64_t RangeSearch::pieces() const {
  return std::max<int64_t>(1, by_columns() ? row_blocks() * chunks_ : blocks_.pieces());
}

size_t RangeSearch::scratch() const {
  const int64_t floats = by_columns() ? pieces() * 2 * (kMostColumns + kPadding) : 2 * blocks_.count();
  return static_cast<size_t>(floats) * sizeof(float);
}

void RangeSearch::search_columns(const void* src, int64_t piece, float* found) const {
  const int64_t first_row = piece / chunks_ * block_rows_;
  const int64_t first = piece % chunks_ * chunk_channels_;
  const int64_t count = std::min(chunk_channels_, channels_.count - first) * channels_.run;
  constexpr int64_t kStride = kMostColumns + kPadding;
  float* lows = found + piece * 2 * kStride;
  std::fill_n(lows, kStride, kInfinity);
  std::fill_n(lows + kStride, kStride, -kInfinity);
  columns_(src, first_row * row_size() + first * channels_.run, std::min(block_rows_, channels_.outer - first_row),
           row_size(), count, lows, lows + kStride);
}

void RangeSearch::search(const void* src, int64_t piece, std::byte* scratch) const {
  auto* found = reinterpret_cast<float*>(scratch);
  if (by_columns()) return search_columns(src, piece, found);
  for (int64_t block = blocks_.piece_begin(piece); block < blocks_.piece_end(piece); ++block) {
    Extremes extremes;
    blocks_.for_each_slice(
        block, [&](int64_t begin, int64_t size, int64_t) { extremes = extremes.with(run_(src, begin, size)); });
    found[2 * block] = extremes.low;
    found[2 * block + 1] = extremes.high;
  }
}

Extremes RangeSearch::of_channel(int64_t channel, const std::byte* scratch) const {
  const auto* found = reinterpret_cast<const float*>(scratch);
  Extremes all;
  if (!by_columns()) {
    for (int64_t b = channel * blocks_.per_channel(); b < (channel + 1) * blocks_.per_channel(); ++b)
      all = all.with({found[2 * b], found[2 * b + 1]});
    return all;
  }
  constexpr int64_t kStride = kMostColumns + kPadding;
  const int64_t column = channel % chunk_channels_ * channels_.run;
  for (int64_t row = 0; row < row_blocks(); ++row) {
    const float* lows = found + (row * chunks_ + channel / chunk_channels_) * 2 * kStride + column;
    for (int64_t i = 0; i < channels_.run; ++i) all = all.with({lows[i], lows[kStride + i]});
  }
  return all;
}

}  // namespace halfstep::kernels::torch
#endif

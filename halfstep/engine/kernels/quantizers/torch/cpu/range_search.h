// Finds the extremes of channels, in pieces.
#pragma once

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/quantizers/torch/observer.h"

namespace halfstep::kernels::torch {

/// Extremes of `size` elements.
using RunExtremes = Extremes (*)(const void* src, int64_t begin, int64_t size);
/// Extends the extremes of `count` columns by the elements of `rows` rows. Arrays are padded to whole vectors.
using ColumnExtremes = void (*)(const void* src, int64_t begin, int64_t rows, int64_t row_size, int64_t count,
                                float* lows, float* highs);

/// Searches along the runs of a channel, or across rows where runs are short.
class RangeSearch {
 public:
  RangeSearch() = default;
  RangeSearch(const Watched& x, CpuLevel level);

  int64_t pieces() const;
  /// Bytes for the results of the pieces, which `of_channel` reads.
  size_t scratch() const;
  void search(const void* src, int64_t piece, std::byte* scratch) const;
  Extremes of_channel(int64_t channel, const std::byte* scratch) const;
  /// The extremes of elements [begin, begin + size), without pieces.
  Extremes of_run(const void* src, int64_t begin, int64_t size) const { return run_(src, begin, size); }

 private:
  static constexpr int64_t kShortRun = 16, kMostColumns = 512, kPadding = 16;

  bool by_columns() const { return chunks_ > 0; }
  int64_t row_size() const { return channels_.count * channels_.run; }
  int64_t row_blocks() const { return ceil_div(channels_.outer, block_rows_); }
  void search_columns(const void* src, int64_t piece, float* found) const;

  Channels channels_;
  Blocks blocks_;
  int64_t chunk_channels_ = 0, chunks_ = 0, block_rows_ = 1;  ///< chunks of columns, or 0 along runs
  RunExtremes run_ = nullptr;
  ColumnExtremes columns_ = nullptr;
};

}  // namespace halfstep::kernels::torch

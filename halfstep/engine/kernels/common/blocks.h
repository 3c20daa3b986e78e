// Sums over channels in an order that depends only on the shape.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/channels.h"

namespace halfstep::kernels {

/// Number of partial sums of a block. Element i of a run's slice goes to lane i % kSumLanes, then lanes are added in
/// order. This is one AVX-512 vector of float32. Every level and the plain reference add the same numbers in the same
/// order.
inline constexpr int64_t kSumLanes = 16;
using SumLanes = std::array<double, kSumLanes>;

inline double sum_of_lanes(const SumLanes& lanes) {
  double sum = 0.0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

/// Cuts each channel into blocks of about kPieceElements: a slice of a long run, or several whole runs. Block b of
/// channel c has index c * per_channel + b. The sum of a channel is the sum of its blocks in order.
class Blocks {
 public:
  Blocks() = default;
  explicit Blocks(const Channels& channels) : channels_(channels) {
    if (channels.size() == 0) return;
    slices_per_run_ = ceil_div(channels.run, kPieceElements);
    runs_per_block_ = std::max<int64_t>(1, kPieceElements / channels.run);
    per_channel_ = slices_per_run_ > 1 ? channels.outer * slices_per_run_ : ceil_div(channels.outer, runs_per_block_);
    const int64_t block_elements = std::max<int64_t>(1, channels.size() / count());
    per_piece_ = std::max<int64_t>(1, kPieceElements / block_elements);
  }

  int64_t per_channel() const { return per_channel_; }
  /// If more than 1, a block is a slice of a run. Otherwise it has whole runs.
  int64_t slices_per_run() const { return slices_per_run_; }
  int64_t runs_per_block() const { return runs_per_block_; }
  int64_t count() const { return channels_.count * per_channel_; }
  /// Number of pieces. Several small blocks share a piece.
  int64_t pieces() const { return ceil_div(count(), per_piece_); }
  int64_t piece_begin(int64_t piece) const { return piece * per_piece_; }
  int64_t piece_end(int64_t piece) const { return std::min(count(), (piece + 1) * per_piece_); }
  int64_t channel_of(int64_t block) const { return block / per_channel_; }

  /// Calls visit(begin, size, run_begin) for every slice of the block, in order.
  template <class Visit>
  void for_each_slice(int64_t block, Visit&& visit) const {
    const int64_t channel = block / per_channel_;
    const int64_t inside = block % per_channel_;
    if (slices_per_run_ > 1) {
      const int64_t run_begin = run_start(inside / slices_per_run_, channel);
      const int64_t offset = inside % slices_per_run_ * kPieceElements;
      return visit(run_begin + offset, std::min(kPieceElements, channels_.run - offset), run_begin);
    }
    const int64_t last = std::min(channels_.outer, (inside + 1) * runs_per_block_);
    for (int64_t outer = inside * runs_per_block_; outer < last; ++outer) {
      const int64_t run_begin = run_start(outer, channel);
      visit(run_begin, channels_.run, run_begin);
    }
  }

 private:
  int64_t run_start(int64_t outer, int64_t channel) const {
    return (outer * channels_.count + channel) * channels_.run;
  }

  Channels channels_;
  int64_t slices_per_run_ = 1, runs_per_block_ = 1, per_channel_ = 0, per_piece_ = 1;
};

/// Sum of term(i) over a channel's elements, block by block.
template <class Term>
double channel_sum(const Blocks& blocks, int64_t channel, Term&& term) {
  double sum = 0.0;
  for (int64_t b = 0; b < blocks.per_channel(); ++b) {
    SumLanes lanes{};
    blocks.for_each_slice(channel * blocks.per_channel() + b, [&](int64_t begin, int64_t size, int64_t) {
      for (int64_t i = 0; i < size; ++i) lanes[i % kSumLanes] += term(begin + i);
    });
    sum += sum_of_lanes(lanes);
  }
  return sum;
}

}  // namespace halfstep::kernels

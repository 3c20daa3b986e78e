// Layout of the channels of an axis in a dense tensor, and walks over their runs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/kernels/errors.h"

namespace halfstep::kernels {

/// Element i belongs to channel (i / run) % count. There are `outer` times `count` runs of `run` contiguous elements.
struct Channels {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t run = 0;

  /// With axis -1 the tensor is one channel.
  static Channels of(std::span<const int64_t> dims, int64_t axis) {
    Channels channels{1, 1, 1};
    for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i) {
      if (i == axis) {
        channels.count = dims[i];
      } else {
        (i < axis ? channels.outer : channels.run) *= dims[i];
      }
    }
    return channels;
  }
  int64_t size() const { return outer * count * run; }
};

/// The runs that cover elements [begin, end), in order. The first and the last may be cut.
class RunWalk {
 public:
  RunWalk(const Channels& channels, int64_t begin, int64_t end) : channels_(channels), next_(begin), end_(end) {
    if (begin >= end) return;
    run_end_ = (begin / channels.run + 1) * channels.run;
    next_channel_ = begin / channels.run % channels.count;
  }

  bool next() {
    if (next_ >= end_) return false;
    begin_ = next_;
    channel_ = next_channel_;
    next_ = std::min(run_end_, end_);
    run_end_ += channels_.run;
    if (++next_channel_ == channels_.count) next_channel_ = 0;
    return true;
  }
  int64_t channel() const { return channel_; }
  int64_t begin() const { return begin_; }
  int64_t size() const { return next_ - begin_; }

 private:
  const Channels& channels_;
  int64_t next_, end_, run_end_ = 0, next_channel_ = 0;
  int64_t begin_ = 0, channel_ = 0;
};

/// In shorter runs, the set-up of a channel costs more than its elements.
inline constexpr int64_t kMinRun = 4;

/// First check of every vectorized kernel with channels.
inline Verdict accept_run(const Channels& channels) {
  if (channels.count > 1 && channels.run < kMinRun)
    return refuse(errors::kernel_is_for_other_sizes(fmt::format("runs of {} elements in a channel", channels.run),
                                                    fmt::format("at least {}", kMinRun)));
  return accept();
}

/// Elements of a piece of elementwise work: 256 KiB of float32, which fit into a second-level cache.
inline constexpr int64_t kPieceElements = int64_t{1} << 16;

/// Pieces of kPieceElements that cover `size` elements. An empty tensor has one empty piece.
constexpr int64_t pieces_of(int64_t size) { return std::max<int64_t>(1, ceil_div(size, kPieceElements)); }

}  // namespace halfstep::kernels

// Walk of an elementwise kernel with parameters by channel over a tensor. Only the shape determines it, once, at
// prepare.
#pragma once

#include <numeric>

#include "halfstep/engine/kernels/common/channels.h"

namespace halfstep::kernels::elements {

/// Larger results bypass the caches. They would be evicted before the next read, and a store that bypasses the caches
/// need not read the line first.
inline constexpr int64_t kStreamBytes = int64_t{8} << 20;
constexpr bool streams(int64_t result_bytes) { return result_bytes > kStreamBytes; }

/// From this length on, the set-up of a run's parameters costs little compared with its elements.
inline constexpr int64_t kLongRun = 64;

/// Most elements whose parameters are laid out at a time. Short periods are repeated up to kNearExpanded elements, so
/// that the first-level cache keeps room for other data.
inline constexpr int64_t kExpanded = 4096;
inline constexpr int64_t kNearExpanded = 1024;

struct Walk {
  enum class Form {
    runs,     ///< long runs: the parameters of a channel stay in registers along its run
    columns,  ///< runs of one element and many channels: parameters are read as vectors, beside the elements
    expanded  ///< short runs: parameters are laid out beside the elements in a small buffer, then read as vectors
  };

  Channels channels;
  Form form = Form::runs;
  int64_t period = 0;   ///< elements after which the channels repeat
  int64_t chunk = 0;    ///< elements whose parameters are laid out at once: some periods, or a part of one
  bool stream = false;  ///< results bypass the caches

  Walk() = default;
  /// `result_bytes` is the size of the whole result.
  Walk(const Channels& of, int64_t result_bytes)
      : channels(of), period(of.count * of.run), stream(streams(result_bytes)) {
    if (channels.count == 1 || channels.run >= kLongRun || period == 0) return;
    if (channels.run == 1 && period >= kNearExpanded) {
      form = Form::columns;
      return;
    }
    form = Form::expanded;
    constexpr int64_t kLine = 64;  // chunks of whole cache lines, if they fit, keep every store aligned
    const int64_t aligned = std::lcm(period, kLine);
    chunk = aligned <= kNearExpanded  ? kNearExpanded / aligned * aligned
            : period <= kNearExpanded ? kNearExpanded / period * period
                                      : std::min(period, kExpanded);
  }

  int64_t size() const { return channels.size(); }
  /// Number of pieces of kPieceElements.
  int64_t pieces() const { return pieces_of(size()); }
  int64_t piece_begin(int64_t piece) const { return piece * kPieceElements; }
  int64_t piece_end(int64_t piece) const { return std::min(size(), (piece + 1) * kPieceElements); }
};

}  // namespace halfstep::kernels::elements

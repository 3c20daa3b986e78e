// Cuts a convolution on channels-last images into pieces.
#pragma once

#include <algorithm>
#include <cstdint>

#include "halfstep/core/base/divide.h"

namespace halfstep::kernels::channels_last {

/// Bytes of weights that stay in the second-level cache.
inline constexpr int64_t kNearBytes = int64_t{1} << 20;

/// Work of a convolution: lines of images by blocks of channels. A piece has some images, some lines and a part of the
/// blocks.
class Cut {
 public:
  /// Lines [first, first + lines) of images [image, image + images), and blocks [block, last_block).
  struct Piece {
    int64_t image, images, first, lines, block, last_block;
  };

  Cut() = default;
  Cut(int64_t images, int64_t lines, int64_t blocks) : all_images_(images), all_lines_(lines), blocks_(blocks) {}

  int64_t images() const { return images_; }
  int64_t lines() const { return lines_; }
  int64_t parts() const { return parts_; }
  int64_t pieces() const { return parts_ * groups() * bands(); }
  /// Number of pieces, rounded up to a multiple of the threads, for 2 threads plus for 8 threads. It is large where
  /// threads of a small or a large machine would idle.
  double turns() const;
  Piece piece(int64_t number) const;

  /// Selects the cut with the lowest cost(cut).
  template <class Cost>
  void choose(Cost&& cost) {
    Cut best = *this;
    for (parts_ = 1; parts_ <= blocks_; parts_ *= 2) {
      for (lines_ = all_lines_; lines_ >= 1; lines_ = std::min(lines_ - 1, ceil_div(all_lines_, bands() + 1))) {
        for (images_ = 1; images_ <= (bands() == 1 ? all_images_ : 1); images_ *= 2) {
          if (cost(*this) < cost(best)) best = *this;
        }
        images_ = 1;
      }
    }
    *this = best;
  }

 private:
  int64_t groups() const { return ceil_div(all_images_, images_); }
  int64_t bands() const { return ceil_div(all_lines_, lines_); }

  int64_t all_images_ = 1, all_lines_ = 1, blocks_ = 1;
  int64_t images_ = 1, lines_ = 1, parts_ = 1;
};

}  // namespace halfstep::kernels::channels_last

// A convolution on images whose channels are the last axis, as matrix products without a matrix: what one out pixel
// meets of x lies in a few contiguous runs.
#pragma once

#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/image/channels_last/cpu/cut.h"
#include "halfstep/engine/kernels/image/channels_last/geometry.h"

namespace halfstep::kernels::channels_last {

/// Out pixel p of a line and out channel o are the sum over runs r and k < run of
/// x[p * pixel_step + runs[r] + k] * weights[r * run + k][o], x being padded where the convolution is. Cut into pieces
/// by shape and vector length alone; each sum runs in that order on one thread, so no cut changes a bit.
class Tiling {
 public:
  /// Pixels that tiles of 1x1 convolutions take as a line: all of them lie one behind the other.
  static constexpr int64_t kFlatLine = 56;

  /// Out channels of one group that a tile computes: at most two vectors of them.
  struct Block {
    int64_t channel, channels;
    int64_t width;    ///< of packed weights: one or two vectors
    int64_t x;        ///< first channel of x
    int64_t weights;  ///< offset of packed [runs * run, width], zeros beyond `channels`
  };
  using Piece = Cut::Piece;

  Tiling(const ConvGeometry& whole, int64_t lanes);

  const ConvGeometry& geometry() const { return g_; }
  int64_t pieces() const { return cut_.pieces(); }
  Piece piece(int64_t number) const { return cut_.piece(number); }
  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<int64_t>& runs() const { return runs_; }
  int64_t run() const { return run_; }
  int64_t pixel_step() const { return g_.stride[1] * g_.c; }
  int64_t line_step() const { return g_.stride[0] * padded_width() * g_.c; }
  /// Pixels of a line: fewer in the last one of a 1x1 convolution.
  int64_t pixels(int64_t line) const { return std::min(g_.ow, pixels_ - line * g_.ow); }
  /// Lines that go through the blocks of a piece together: few where the weights are near, so that what they read and
  /// write stays nearer still.
  int64_t together() const;
  /// Whether the weights of all blocks stay in the first-level cache.
  bool has_small_weights() const;

  /// Floats of packed weights.
  int64_t packed_size() const { return packed_size_; }
  /// Brings the weights of a block into its layout; `packed` is the start of all.
  void pack(const Block& block, const float* weights, float* packed) const;

  /// Floats of worker scratch.
  int64_t padded_size() const;
  /// Where a piece's lines begin in an image: in the image itself, or in `padded`, where they are copied to with zeros
  /// around.
  const float* enter(const float* image, const Piece& piece, float* padded) const;

 private:
  bool is_flat() const;
  bool is_padded() const { return g_.pad != std::array<int64_t, 4>{}; }
  int64_t padded_width() const { return g_.w + g_.pad[1] + g_.pad[3]; }
  int64_t x_lines(int64_t lines) const { return (lines - 1) * g_.stride[0] + (g_.kh - 1) * g_.dilation[0] + 1; }
  void flatten();
  void add_blocks(int64_t lanes);
  /// Of what a piece reads of an image.
  int64_t line_bytes(int64_t lines) const;
  double cost(const Cut& cut) const;

  ConvGeometry g_;
  int64_t pixels_;  ///< of an image of the result
  std::vector<Block> blocks_;
  std::vector<int64_t> runs_;
  int64_t run_ = 0, packed_size_ = 0;
  Cut cut_;
};

}  // namespace halfstep::kernels::channels_last

// A convolution on channels-last images, as matrix products without a copied matrix. An output pixel reads x in a few
// contiguous runs.
#pragma once

#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/image/channels_last/cpu/cut.h"
#include "halfstep/engine/kernels/image/channels_last/geometry.h"

namespace halfstep::kernels::channels_last {

/// Pixel p of an output line and output channel o are the sum over runs r and k < run of x[p * pixel_step + runs[r] +
/// k] * weights[r * run + k][o], where x is padded if needed. The cut into pieces depends only on the shape and the
/// vector length. Each sum runs in this order on one thread, so that no cut changes a bit.
class Tiling {
 public:
  /// Pixels of a line in a 1x1 convolution. Its pixels are contiguous, so that lines can have any length.
  static constexpr int64_t kFlatLine = 56;

  /// Output channels of one group that a tile computes: at most two vectors.
  struct Block {
    int64_t channel, channels;
    int64_t width;    ///< width of packed weights: one or two vectors
    int64_t x;        ///< first channel of x
    int64_t weights;  ///< offset of packed weights [runs * run, width], with zeros beyond `channels`
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
  /// Pixels of a line. The last line of a 1x1 convolution may have fewer.
  int64_t pixels(int64_t line) const { return std::min(g_.ow, pixels_ - line * g_.ow); }
  /// Lines that a piece takes through its blocks together. If the weights stay in the second-level cache, the number is
  /// small, so that the lines stay in the first-level cache.
  int64_t together() const;
  /// Whether the weights of all blocks stay in the first-level cache.
  bool has_small_weights() const;

  /// Size of the packed weights in floats.
  int64_t packed_size() const { return packed_size_; }
  /// Packs the weights of a block into its layout. `packed` is the start of all packed weights.
  void pack(const Block& block, const float* weights, float* packed) const;

  /// Size of the worker scratch in floats.
  int64_t padded_size() const;
  /// Start of a piece's lines: in the image itself, or in `padded`, to which this copies them with zeros around.
  const float* enter(const float* image, const Piece& piece, float* padded) const;

 private:
  bool is_flat() const;
  bool is_padded() const { return g_.pad != std::array<int64_t, 4>{}; }
  int64_t padded_width() const { return g_.w + g_.pad[1] + g_.pad[3]; }
  int64_t x_lines(int64_t lines) const { return (lines - 1) * g_.stride[0] + (g_.kh - 1) * g_.dilation[0] + 1; }
  void flatten();
  void add_blocks(int64_t lanes);
  /// Bytes of an image that `lines` lines of a piece read.
  int64_t line_bytes(int64_t lines) const;
  double cost(const Cut& cut) const;

  ConvGeometry g_;
  int64_t pixels_;  ///< pixels of one result image
  std::vector<Block> blocks_;
  std::vector<int64_t> runs_;
  int64_t run_ = 0, packed_size_ = 0;
  Cut cut_;
};

}  // namespace halfstep::kernels::channels_last

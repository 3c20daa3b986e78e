// How channels_last_integer_conv2d is cut into tiles of pixels by channels and laid out for a micro-kernel; by shapes
// alone.
#pragma once

#include <vector>

#include "halfstep/base/divide.h"
#include "halfstep/kernels/integer/cpu/nhwc_layer.h"

namespace halfstep::kernels::integer {

/// Out channels of a block of weights: two vectors.
inline constexpr int64_t kBlockOutputs = 2 * kLanes;

/// One call of a micro-kernel: the sums of up to two tiles of pixels by the channels of a block, from the bias on. What
/// a pixel meets of x lies in `runs`, each `steps` times `chunk` bytes.
struct NhwcTile {
  const uint8_t* x[2] = {};  ///< first pixel of each tile
  const LaneSteps* bias;     ///< of each vector of channels
  const std::byte* weights;  ///< [run][step][vector of channels][chunk / 4] of 16 channels times four bytes
  const int64_t* runs;       ///< offsets
  int64_t run_count, steps, chunk, pixel_step;
  int64_t tiles, pixels;  ///< of a tile
  int64_t vectors;        ///< of channels, 1 or 2
  int32_t* acc;           ///< [tile][kTilePixels][kBlockOutputs]
};

/// The most pixels of a tile.
inline constexpr int64_t kTilePixels = 16;

struct NhwcEngine {
  int64_t tile_pixels;  ///< at most
  void (*tile)(const NhwcTile& tile);
  void (*begin)(int64_t pixels, int64_t chunk) = nullptr;  ///< around the tiles of a piece, where not null
  void (*end)() = nullptr;
};

class NhwcTiling {
 public:
  /// together() at most.
  static constexpr int64_t kMostTiles = 64;

  /// Out channels of one group.
  struct Block {
    int64_t channel, channels;
    int64_t x;        ///< first channel of x
    int64_t weights;  ///< offset of packed weights
    int64_t vectors() const { return ceil_div(channels, kLanes); }
  };
  /// Lines [first, first + lines) of images [image, image + images), and blocks [block, last_block).
  struct Piece {
    int64_t image, images, first, lines, block, last_block;
  };

  NhwcTiling(const NhwcLayer& layer, int64_t tile_pixels);

  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<int64_t>& runs() const { return runs_; }
  int64_t steps() const { return steps_; }
  int64_t chunk() const { return chunk_; }
  int64_t pixel_step() const { return g_.stride[1] * g_.c; }
  int64_t out_step() const { return g_.o; }

  int64_t pieces() const { return parts_ * image_groups() * bands(); }
  Piece piece(int64_t number) const;
  /// Tiles of a line are equally large; the last may begin before the one before it ends.
  int64_t tile_pixels() const { return tile_pixels_; }
  int64_t tiles_of_line() const { return ceil_div(g_.ow, tile_pixels_); }
  /// Tiles that go through the blocks of a piece together: few, so that what they read and write stays in the cache,
  /// but where weights lie further away than that.
  int64_t together() const;

  /// A tile of a piece, by number: offsets of its first pixel in what enter() gives and in the result, and how many
  /// pixels the tile before it has computed.
  struct Spot {
    int64_t x, out, known;
  };
  Spot spot(const Piece& piece, int64_t tile) const;

  int64_t packed_bytes() const { return packed_bytes_; }
  /// Weights of all blocks; `packed` begins with zeros.
  void pack(const int8_t* weights, std::byte* packed) const;

  int64_t scratch_bytes() const { return is_copied_ ? images_ * image_bytes() + kOverrun : 0; }
  /// Where a piece's lines begin: in x itself, or in `scratch`, where they are copied to with padding.
  const uint8_t* enter(const uint8_t* x, const Piece& piece, uint8_t* scratch) const;

 private:
  /// Bytes behind a pixel's last that a step may read, to be multiplied with zeros.
  static constexpr int64_t kOverrun = 64;

  bool is_flat() const;
  void flatten();
  void add_runs();
  void add_blocks();
  void cut();
  double cost() const;
  int64_t pixels(int64_t line) const { return std::min(g_.ow, pixels_ - line * g_.ow); }
  int64_t image_groups() const { return ceil_div(g_.n, images_); }
  int64_t bands() const { return ceil_div(g_.oh, lines_); }
  Padded padded() const { return {g_, zero_point_}; }
  int64_t image_bytes() const { return padded().lines(lines_) * padded().line_bytes(); }

  ConvGeometry g_;
  uint8_t zero_point_;
  int64_t pixels_;  ///< of an image of the result
  bool is_copied_ = false;
  std::vector<Block> blocks_;
  std::vector<int64_t> runs_;
  int64_t run_ = 0, steps_ = 1, chunk_ = 4, tile_pixels_ = 1, packed_bytes_ = 0;
  int64_t images_ = 1, lines_ = 1, parts_ = 1;
};

}  // namespace halfstep::kernels::integer

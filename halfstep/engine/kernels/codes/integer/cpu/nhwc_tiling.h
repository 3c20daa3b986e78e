// Cuts a layer into tiles of pixels by channels and packs it for a micro-kernel. Only shapes determine the cut.
#pragma once

#include <vector>

#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_codes.h"
#include "halfstep/engine/kernels/image/channels_last/cpu/cut.h"

namespace halfstep::kernels::integer {

/// One call of a micro-kernel: sums of up to two tiles of pixels by the channels of a block, starting from the bias. A
/// pixel reads x in `runs`, each of `steps` times `chunk` bytes.
struct NhwcTile {
  const std::byte* x[2] = {};  ///< first pixel of each tile
  const int32_t* bias;         ///< bias of 16 channels
  int64_t bias_step;           ///< distance of the bias of the next 16 channels
  const std::byte* weights;    ///< [run][step][16 channels][chunk / 4] of 16 channels times four bytes
  const int64_t* runs;         ///< offsets in bytes. The other distances are in bytes too
  int64_t run_count, steps, chunk, pixel_step;
  int64_t tiles, pixels;  ///< number of tiles, pixels of a tile
  int64_t vectors;        ///< groups of 16 channels, 1 or 2
  int32_t* acc;           ///< [tile][kTilePixels][kBlockOutputs]
};

/// The most pixels of a tile.
inline constexpr int64_t kTilePixels = 16;

struct NhwcEngine {
  int64_t tile_pixels;  ///< most pixels of a tile
  void (*tile)(const NhwcTile& tile);
  /// Converts codes to int16 minus NhwcLayer::offset. Null in an engine that multiplies bytes.
  void (*widen)(const void* codes, int64_t count, void* to) = nullptr;
  void (*begin)(int64_t pixels, int64_t chunk) = nullptr;  ///< before the tiles of a piece, if not null
  void (*end)() = nullptr;
};

/// Whether a level multiplies words of four one-byte codes.
inline bool has_byte_words(CpuLevel level) { return level >= CpuLevel::vnni; }
/// The engine of a level on vectors. Its words have four one-byte codes, or two codes as int16. It has no `widen`.
NhwcEngine word_engine(CpuLevel level, bool are_bytes);

class NhwcTiling {
 public:
  /// Largest value of together().
  static constexpr int64_t kMostTiles = 64;

  /// Out channels of one group.
  struct Block {
    int64_t channel, channels;
    int64_t x;        ///< offset of the group's channels in a pixel
    int64_t weights;  ///< offset of packed weights
    int64_t vectors() const { return ceil_div(channels, kLanes); }
  };
  using Piece = channels_last::Cut::Piece;

  NhwcTiling(const NhwcLayer& layer, const NhwcEngine& engine);

  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<int64_t>& runs() const { return runs_; }
  int64_t steps() const { return steps_; }
  int64_t chunk() const { return chunk_; }
  int64_t pixel_step() const { return g_.stride[1] * pixel_bytes(); }
  int64_t out_step() const { return g_.o; }

  int64_t pieces() const { return cut_.pieces(); }
  Piece piece(int64_t number) const { return cut_.piece(number); }
  /// Tiles of a line have equal sizes. The last may overlap the one before it.
  int64_t tile_pixels() const { return tile_pixels_; }
  int64_t tiles_of_line() const { return tiles_of_line_; }
  /// Tiles that go through the blocks of a piece together. There are few, so that their data stays in the cache, unless
  /// the weights do not fit into the second-level cache.
  int64_t together() const;

  /// Position of a tile of a piece, by number: offset of its first pixel in the memory of enter(), in bytes, and in the
  /// result, in codes. The tile before it has computed the pixels before `known`. There are no pixels from `end` on.
  struct Spot {
    int64_t x, out, known, end;
  };
  Spot spot(const Piece& piece, int64_t tile) const;

  int64_t packed_bytes() const { return packed_bytes_; }
  /// Packs the weights of all blocks. `packed` must be zero at the start.
  void pack(const int8_t* weights, std::byte* packed) const;

  int64_t scratch_bytes() const { return scratch_bytes(cut_); }
  /// Start of a piece's lines: in x itself, or in `scratch`, to which this copies them with padding.
  const std::byte* enter(const std::byte* x, const Piece& piece, std::byte* scratch) const;

 private:
  /// Bytes after a pixel's last that a step may read. They are multiplied with zeros.
  static constexpr int64_t kOverrun = 64;

  bool is_flat() const;
  void flatten();
  void add_runs();
  void add_blocks();
  double cost(const channels_last::Cut& cut) const;
  void copy_line(const std::byte* image, int64_t y, std::byte* to) const;
  std::byte* fill(std::byte* to, int64_t codes) const;

  int64_t pixels(int64_t line) const { return std::min(g_.ow, pixels_ - line * g_.ow); }
  int64_t pixel_bytes() const { return g_.c * code_bytes_; }
  int64_t line_bytes() const { return (g_.w + g_.pad[1] + g_.pad[3]) * pixel_bytes(); }
  /// Lines of x that `lines` lines of the result read.
  int64_t x_lines(int64_t lines) const { return (lines - 1) * g_.stride[0] + (g_.kh - 1) * g_.dilation[0] + 1; }
  int64_t image_bytes(int64_t lines) const { return is_copied_ ? x_lines(lines) * line_bytes() : g_.h * line_bytes(); }
  int64_t scratch_bytes(const channels_last::Cut& cut) const {
    return is_copied_ ? cut.images() * image_bytes(cut.lines()) + kOverrun : 0;
  }

  ConvGeometry g_;
  decltype(NhwcEngine::widen) widen_;
  int64_t x_bytes_, code_bytes_;  ///< bytes of a code in x, and of a code in the products
  int32_t zero_point_;            ///< zero point of the codes in the products
  int64_t pixels_;                ///< pixels of one result image
  int64_t x_codes_;               ///< codes of one image of x
  bool is_copied_ = false;
  std::vector<Block> blocks_;
  std::vector<int64_t> runs_;
  int64_t run_ = 0, steps_ = 1, chunk_ = 4, tile_pixels_ = 1, tiles_of_line_ = 1, packed_bytes_ = 0;
  channels_last::Cut cut_;
};

}  // namespace halfstep::kernels::integer

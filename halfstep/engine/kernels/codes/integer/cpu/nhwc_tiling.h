// How a layer is cut into tiles of pixels by channels and laid out for a micro-kernel; by shapes alone.
#pragma once

#include <vector>

#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_codes.h"
#include "halfstep/engine/kernels/image/channels_last/cpu/cut.h"

namespace halfstep::kernels::integer {

/// One call of a micro-kernel: the sums of up to two tiles of pixels by the channels of a block, from the bias on. What
/// a pixel meets of x lies in `runs`, each `steps` times `chunk` bytes.
struct NhwcTile {
  const std::byte* x[2] = {};  ///< first pixel of each tile
  const int32_t* bias;         ///< of 16 channels
  int64_t bias_step;           ///< to that of the next 16
  const std::byte* weights;    ///< [run][step][16 channels][chunk / 4] of 16 channels times four bytes
  const int64_t* runs;         ///< offsets; these and all others are bytes
  int64_t run_count, steps, chunk, pixel_step;
  int64_t tiles, pixels;  ///< of a tile
  int64_t vectors;        ///< times 16 channels, 1 or 2
  int32_t* acc;           ///< [tile][kTilePixels][kBlockOutputs]
};

/// The most pixels of a tile.
inline constexpr int64_t kTilePixels = 16;

struct NhwcEngine {
  int64_t tile_pixels;  ///< at most
  void (*tile)(const NhwcTile& tile);
  /// Makes int16 of codes, less NhwcLayer::offset; null of an engine that multiplies bytes.
  void (*widen)(const void* codes, int64_t count, void* to) = nullptr;
  void (*begin)(int64_t pixels, int64_t chunk) = nullptr;  ///< around the tiles of a piece, where not null
  void (*end)() = nullptr;
};

/// Whether a level multiplies words of four codes of a byte.
inline bool has_byte_words(CpuLevel level) { return level >= CpuLevel::vnni; }
/// That of a level on vectors: words of four codes of a byte, or of two codes as int16. It widens nothing itself.
NhwcEngine word_engine(CpuLevel level, bool are_bytes);

class NhwcTiling {
 public:
  /// together() at most.
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
  /// Tiles of a line are equally large; the last may begin before the one before it ends.
  int64_t tile_pixels() const { return tile_pixels_; }
  int64_t tiles_of_line() const { return tiles_of_line_; }
  /// Tiles that go through the blocks of a piece together: few, so that what they read and write stays in the cache,
  /// but where weights lie further away than that.
  int64_t together() const;

  /// A tile of a piece, by number: offsets of its first pixel in what enter() gives, in bytes, and in the result, in
  /// codes. The tile before it has computed the pixels before `known`, and from `end` on there are none.
  struct Spot {
    int64_t x, out, known, end;
  };
  Spot spot(const Piece& piece, int64_t tile) const;

  int64_t packed_bytes() const { return packed_bytes_; }
  /// Weights of all blocks; `packed` begins with zeros.
  void pack(const int8_t* weights, std::byte* packed) const;

  int64_t scratch_bytes() const { return scratch_bytes(cut_); }
  /// Where a piece's lines begin: in x itself, or in `scratch`, where they are copied to with padding.
  const std::byte* enter(const std::byte* x, const Piece& piece, std::byte* scratch) const;

 private:
  /// Bytes behind a pixel's last that a step may read, to be multiplied with zeros.
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
  /// Lines of x that `lines` of the result read.
  int64_t x_lines(int64_t lines) const { return (lines - 1) * g_.stride[0] + (g_.kh - 1) * g_.dilation[0] + 1; }
  int64_t image_bytes(int64_t lines) const { return is_copied_ ? x_lines(lines) * line_bytes() : g_.h * line_bytes(); }
  int64_t scratch_bytes(const channels_last::Cut& cut) const {
    return is_copied_ ? cut.images() * image_bytes(cut.lines()) + kOverrun : 0;
  }

  ConvGeometry g_;
  decltype(NhwcEngine::widen) widen_;
  int64_t x_bytes_, code_bytes_;  ///< of a code in x, and as it is multiplied
  int32_t zero_point_;            ///< as it is multiplied
  int64_t pixels_;                ///< of an image of the result
  int64_t x_codes_;               ///< of an image of x
  bool is_copied_ = false;
  std::vector<Block> blocks_;
  std::vector<int64_t> runs_;
  int64_t run_ = 0, steps_ = 1, chunk_ = 4, tile_pixels_ = 1, tiles_of_line_ = 1, packed_bytes_ = 0;
  channels_last::Cut cut_;
};

}  // namespace halfstep::kernels::integer

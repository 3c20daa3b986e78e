// How a layer is cut into pieces and laid out for a micro-kernel; depends on shapes alone.
#pragma once

#include <vector>

#include "halfstep/kernels/integer/cpu/engine.h"
#include "halfstep/kernels/integer/cpu/layer.h"

namespace halfstep::kernels::integer {

/// From row to row of a copied patch matrix: a block's pixels, and a cache line that copies may run into.
inline constexpr int64_t kPatchUnits = kBlockPixels + kPixelLanes;

/// Part of a layer's output: images, output rows, and groups (or, where there is one group, output channels).
struct Piece {
  int64_t image = 0, images = 0;
  int64_t row = 0, rows = 0;
  int64_t group = 0, groups = 0;
  int64_t output = 0, outputs = 0;  ///< of every group
};

/// The input of a piece lies as planes of units, one plane for every codes_per_unit channels:
/// [plane][image][row][column], padding included. Where a group has one channel, a unit holds neighbouring columns (a
/// dilation apart) instead, and there is one plane.
///
/// A row of the patch matrix is one unit of the kernel's window: the taps in order, and for each tap the planes.
/// `direct`: rows are read in place, pixel positions are those of the padded image, and what is computed at its right
/// and lower edge is thrown away. Otherwise the rows of a pixel block are copied together first.
struct Tiling {
  Tiling(const Layer& layer, const Engine& engine);

  int64_t pieces() const { return image_parts * row_parts * channel_parts; }
  Piece piece(int64_t index) const;

  int64_t image_parts = 1, row_parts = 1, channel_parts = 1;
  int64_t images = 1, rows_out = 1;  ///< of a piece, at most
  int64_t groups = 1, outputs = 1;   ///< of a piece, at most
  bool neighbours = false;           ///< a unit holds neighbouring columns
  bool direct = false;
  int64_t planes = 1;
  int64_t padded_rows = 1, padded_columns = 1;  ///< of an image's share of a piece
  int64_t plane_units = 0;                      ///< distance between planes
  int64_t rows = 0, row_tile = 1;               ///< of the patch matrix; rows is a multiple of row_tile
  std::vector<int64_t> sources;                 ///< by row without fill-up rows: where it starts among the units
  std::vector<int64_t> offsets;                 ///< by row: what a TileCall takes
  int64_t blocks = 1;                           ///< of packed weights in a group

  size_t units_bytes() const;
  size_t patch_bytes() const;
  /// Scratch to lay out one plane.
  size_t lay_out_bytes() const;

 private:
  void cut(int64_t block_outputs);
  void lay_out(const Engine& engine);
  Layer layer_;
};

}  // namespace halfstep::kernels::integer

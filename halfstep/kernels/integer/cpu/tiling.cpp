#include "halfstep/kernels/integer/cpu/tiling.h"

#include "halfstep/base/divide.h"

#include <algorithm>

namespace halfstep::kernels::integer {
namespace {

/// Work of a piece in multiplications: tens of microseconds, long beside the start of a piece and short beside a layer.
constexpr int64_t kPieceWork = int64_t{1} << 22;
/// A layer of few images is cut further until it has this many pieces.
constexpr int64_t kFewPieces = 8;
/// Requantizing and storing an element costs about as much as so many multiplications.
constexpr int64_t kElementWork = 64;

int64_t extent(int64_t out, int64_t stride, int64_t kernel, int64_t dilation) {
  return (out - 1) * stride + (kernel - 1) * dilation + 1;
}

}  // namespace

Tiling::Tiling(const Layer& layer, const Engine& engine) : layer_(layer) {
  cut(engine.outputs);
  lay_out(engine);
}

void Tiling::cut(int64_t block_outputs) {
  const int64_t pixels = layer_.out[0] * layer_.out[1];
  const int64_t image_work = pixels * layer_.groups * layer_.outputs * (layer_.weights_of_output() + kElementWork);
  images = std::clamp<int64_t>(kPieceWork / image_work, 1, layer_.images);
  image_parts = ceil_div(layer_.images, images);

  int64_t wanted = image_parts >= kFewPieces ? 1 : std::min(kFewPieces, image_work * images / kPieceWork + 1);
  const int64_t least_rows = ceil_div(kBlockPixels, layer_.out[1]);
  rows_out = std::min(layer_.out[0], std::max(least_rows, ceil_div(layer_.out[0], wanted)));
  row_parts = ceil_div(layer_.out[0], rows_out);

  wanted = ceil_div(wanted, row_parts);
  blocks = ceil_div(layer_.outputs, block_outputs);
  groups = layer_.groups > 1 ? ceil_div(layer_.groups, wanted) : 1;
  outputs = layer_.groups > 1 ? layer_.outputs : ceil_div(blocks, wanted) * block_outputs;
  channel_parts = layer_.groups > 1 ? ceil_div(layer_.groups, groups) : ceil_div(layer_.outputs, outputs);
}

Piece Tiling::piece(int64_t index) const {
  Piece piece;
  const int64_t part = index % channel_parts;
  const bool grouped = layer_.groups > 1;
  piece.group = grouped ? part * groups : 0;
  piece.groups = std::min(groups, layer_.groups - piece.group);
  piece.output = grouped ? 0 : part * outputs;
  piece.outputs = std::min(outputs, layer_.outputs - piece.output);
  piece.row = index / channel_parts % row_parts * rows_out;
  piece.rows = std::min(rows_out, layer_.out[0] - piece.row);
  piece.image = index / channel_parts / row_parts * images;
  piece.images = std::min(images, layer_.images - piece.image);
  return piece;
}

void Tiling::lay_out(const Engine& engine) {
  const int64_t per_unit = engine.codes_per_unit;
  neighbours = layer_.channels == 1 && layer_.kernel[1] > 1;
  planes = ceil_div(layer_.channels, per_unit);
  padded_rows = extent(rows_out, layer_.stride[0], layer_.kernel[0], layer_.dilation[0]);
  padded_columns = extent(layer_.out[1], layer_.stride[1], layer_.kernel[1], layer_.dilation[1]);
  // An odd number of cache lines between planes: a power of two would put all planes of a pixel into one cache set.
  plane_units = round_up(images * padded_rows * padded_columns, kPixelLanes);
  if (plane_units / kPixelLanes % 2 == 0) plane_units += kPixelLanes;

  const int64_t step = neighbours ? per_unit : 1;  // columns of the kernel that a unit holds
  for (int64_t ky = 0; ky < layer_.kernel[0]; ++ky) {
    for (int64_t kx = 0; kx < layer_.kernel[1]; kx += step) {
      const int64_t tap = ky * layer_.dilation[0] * padded_columns + kx * layer_.dilation[1];
      for (int64_t plane = 0; plane < planes; ++plane) sources.push_back(plane * plane_units + tap);
    }
  }

  const int64_t computed =
      (images - 1) * padded_rows * padded_columns + (rows_out - 1) * padded_columns + layer_.out[1];
  const int64_t needed = images * rows_out * layer_.out[1];
  // Copying a patch costs about as much as computing a quarter more.
  const bool dense = layer_.stride == Pair{1, 1} && computed <= needed + needed / 4;
  const int64_t tile = engine.largest_row_tile;
  const int64_t direct_tile = planes % tile == 0 ? tile : planes % 8 == 0 ? 8 : 0;
  direct = dense && direct_tile > 0;
  const auto real_rows = static_cast<int64_t>(sources.size());
  row_tile = direct ? direct_tile : std::min(tile, real_rows);
  rows = round_up(real_rows, row_tile);
  offsets = sources;
  if (direct) return;
  offsets.resize(static_cast<size_t>(rows));
  for (int64_t r = 0; r < rows; ++r) offsets[r] = r * kPatchUnits;
}

size_t Tiling::units_bytes() const { return static_cast<size_t>(planes * plane_units + kBlockPixels) * 4; }

size_t Tiling::patch_bytes() const { return direct ? 0 : static_cast<size_t>(rows * kPatchUnits) * 4; }

size_t Tiling::lay_out_bytes() const {
  const int64_t columns = std::max(padded_columns, layer_.in[1]);
  return static_cast<size_t>(round_up(images * padded_rows * columns + 3 * layer_.dilation[1], kPixelLanes)) * 4;
}

}  // namespace halfstep::kernels::integer

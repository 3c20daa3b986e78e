#include "halfstep/kernels/integer/cpu/units.h"

#include <algorithm>
#include <cstring>

namespace halfstep::kernels::integer {
namespace {

size_t code_bytes(const Layer& layer) { return layer.wide_in ? 2 : 1; }

/// Rows of an input image that a piece reads, and where the first stands in the padded rows.
struct RowRange {
  RowRange(const Layer& layer, const Tiling& tiling, const Piece& piece) {
    const int64_t first = piece.row * layer.stride[0] - layer.pad[0];
    begin = std::clamp<int64_t>(first, 0, layer.in[0]);
    end = std::clamp<int64_t>(first + tiling.padded_rows, begin, layer.in[0]);
    above = std::min(begin - first, tiling.padded_rows);
  }
  int64_t begin, end, above;
};

/// Copies rows of an input image into an image of padded rows and columns.
template <class T>
void pad_image(const T* src, const Layer& layer, const Tiling& tiling, const RowRange& range, T padding, T* dst) {
  const int64_t width = tiling.padded_columns;
  const int64_t left = std::min(layer.pad[1], width);
  const int64_t columns = std::clamp<int64_t>(width - left, 0, layer.in[1]);
  std::fill_n(dst, tiling.padded_rows * width, padding);  // at once: the margins of rows are a few elements each
  dst += range.above * width + left;
  for (int64_t y = range.begin; y < range.end; ++y, src += layer.in[1], dst += width) std::copy_n(src, columns, dst);
}

/// The first row that a piece reads, of one channel of one image.
const std::byte* rows_of(const std::byte* src, const Layer& layer, int64_t image, int64_t channel, int64_t row) {
  const int64_t plane = image * layer.groups * layer.channels + channel;
  return src + static_cast<size_t>((plane * layer.in[0] + row) * layer.in[1]) * code_bytes(layer);
}

/// The unit of the first `count` of kPerUnit codes.
template <int kPerUnit, class Code>
uint32_t unit_of(const Code* codes, int64_t count, int32_t offset) {
  constexpr int kBits = 32 / kPerUnit;
  constexpr uint32_t kMask = (1U << kBits) - 1;
  uint32_t unit = 0;
  for (int k = 0; k < count; ++k) unit |= (static_cast<uint32_t>(codes[k] - offset) & kMask) << (k * kBits);
  return unit;
}

/// Rows of a matrix into units, kPixelLanes rows together so that each line of units is written once.
template <int kPerUnit, class Code>
void fill_matrix(const Code* src, int64_t rows, const Layer& layer, const Tiling& tiling, int32_t offset,
                 uint32_t* units) {
  const int64_t whole = layer.channels / kPerUnit;
  for (int64_t first = 0; first < rows; first += kPixelLanes) {
    const int64_t last = std::min(rows, first + kPixelLanes);
    for (int64_t plane = 0; plane < tiling.planes; ++plane) {
      uint32_t* dst = units + plane * tiling.plane_units;
      const Code* codes = src + plane * kPerUnit;
      for (int64_t p = first; p < last; ++p) {
        const Code* at = codes + p * layer.channels;
        dst[p] = plane < whole ? unit_of<kPerUnit>(at, kPerUnit, offset)
                               : unit_of<kPerUnit>(at, layer.channels % kPerUnit, offset);
      }
    }
  }
}

}  // namespace

uint32_t UnitMaker::padding_unit() const {
  const int32_t code = layer.x_zero_point - code_offset(engine, layer);
  return engine.codes_per_unit == 4 ? static_cast<uint32_t>(code & 0xFF) * 0x01010101U
                                    : static_cast<uint32_t>(code & 0xFFFF) * 0x00010001U;
}

void UnitMaker::fill(const void* src, const Piece& piece, int64_t group, uint32_t* units, std::byte* scratch) const {
  const auto* bytes = static_cast<const std::byte*>(src);
  if (layer.linear) {
    fill_linear(bytes, piece, units);
  } else if (tiling.neighbours) {
    fill_neighbours(bytes, piece, group, units, scratch);
  } else {
    fill_channels(bytes, piece, group, units, reinterpret_cast<uint32_t*>(scratch));
  }
}

void UnitMaker::fill_linear(const std::byte* src, const Piece& piece, uint32_t* units) const {
  src += static_cast<size_t>(piece.row * layer.channels) * code_bytes(layer);
  const int32_t offset = code_offset(engine, layer);
  if (engine.codes_per_unit == 4)
    return fill_matrix<4>(reinterpret_cast<const uint8_t*>(src), piece.rows, layer, tiling, offset, units);
  if (layer.wide_in)
    return fill_matrix<2>(reinterpret_cast<const uint16_t*>(src), piece.rows, layer, tiling, offset, units);
  fill_matrix<2>(reinterpret_cast<const uint8_t*>(src), piece.rows, layer, tiling, offset, units);
}

void UnitMaker::fill_channels(const std::byte* src, const Piece& piece, int64_t group, uint32_t* units,
                              uint32_t* scratch) const {
  const RowRange range(layer, tiling, piece);
  const int64_t count = (range.end - range.begin) * layer.in[1];
  for (int64_t plane = 0; plane < tiling.planes; ++plane) {
    uint32_t* dst = units + plane * tiling.plane_units;
    for (int64_t n = piece.image; n < piece.image + piece.images; ++n) {
      const void* from[4];
      for (int64_t k = 0; k < engine.codes_per_unit; ++k) {
        // Past the last channel the weights are zero, and any code will do.
        const int64_t c = std::min(plane * engine.codes_per_unit + k, layer.channels - 1);
        from[k] = rows_of(src, layer, n, group * layer.channels + c, range.begin);
      }
      interleave(from, count, scratch);
      pad_image(scratch, layer, tiling, range, padding_unit(), dst);
      dst += tiling.padded_rows * tiling.padded_columns;
    }
  }
}

void UnitMaker::fill_neighbours(const std::byte* src, const Piece& piece, int64_t group, uint32_t* units,
                                std::byte* scratch) const {
  const RowRange range(layer, tiling, piece);
  const int64_t image = tiling.padded_rows * tiling.padded_columns;
  const int64_t behind = (engine.codes_per_unit - 1) * layer.dilation[1];
  const auto fill_as = [&]<class Code>(Code* codes) {
    const auto padding = static_cast<Code>(layer.x_zero_point);
    for (int64_t n = 0; n < piece.images; ++n) {
      const std::byte* rows = rows_of(src, layer, piece.image + n, group, range.begin);
      pad_image(reinterpret_cast<const Code*>(rows), layer, tiling, range, padding, codes + n * image);
    }
    std::fill_n(codes + piece.images * image, behind, padding);
    const void* from[4];
    for (int64_t k = 0; k < engine.codes_per_unit; ++k) from[k] = codes + k * layer.dilation[1];
    interleave(from, piece.images * image, units);
  };
  layer.wide_in ? fill_as(reinterpret_cast<uint16_t*>(scratch)) : fill_as(reinterpret_cast<uint8_t*>(scratch));
}

namespace {

/// Copies one run of every row of the patch matrix: dst[row * kPatchUnits + i] = units[sources[row] + i * stride]. With
/// stride 1 whole groups of four are copied.
template <int kFours>
void copy_fours(const std::vector<int64_t>& sources, const uint32_t* units, uint32_t* dst) {
  for (const int64_t source : sources) {
    std::memcpy(dst, units + source, kFours * 16);
    dst += kPatchUnits;
  }
}

void copy_run(const std::vector<int64_t>& sources, const uint32_t* units, int64_t count, int64_t stride,
              uint32_t* dst) {
  if (stride == 1) {
    for (; count > 16; count -= 16, units += 16, dst += 16) copy_fours<4>(sources, units, dst);
    if (count > 8) return copy_fours<4>(sources, units, dst);
    if (count > 4) return copy_fours<2>(sources, units, dst);
    return copy_fours<1>(sources, units, dst);
  }
  for (const int64_t source : sources) {
    const uint32_t* src = units + source;
    if (stride == 2) {
      for (int64_t i = 0; i < count; ++i) dst[i] = src[2 * i];
    } else {
      for (int64_t i = 0; i < count; ++i) dst[i] = src[stride * i];
    }
    dst += kPatchUnits;
  }
}

}  // namespace

void copy_patch(const Layer& layer, const Tiling& tiling, const Piece& piece, const uint32_t* units, int64_t begin,
                int64_t count, uint32_t* patch) {
  // Ascending order: what a run copies too far is written over by the next, or lies behind the block's pixels.
  for (int64_t i = 0; i < count;) {
    const int64_t pixel = begin + i;
    const int64_t column = pixel % layer.out[1];
    const int64_t row = pixel / layer.out[1] % piece.rows;
    const int64_t image = pixel / layer.out[1] / piece.rows;
    const int64_t length = std::min(count - i, layer.out[1] - column);
    const int64_t first =
        (image * tiling.padded_rows + row * layer.stride[0]) * tiling.padded_columns + column * layer.stride[1];
    copy_run(tiling.sources, units + first, length, layer.stride[1], patch + i);
    i += length;
  }
}

}  // namespace halfstep::kernels::integer

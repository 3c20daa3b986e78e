// How a board lays codes out in memory and in files. docs/guides/debug_board.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/tensor.h"

namespace halfstep::board {

/// What comes after what within a sample. `blocks`: [ceil(c / block), h, w, block], channels behind the last are 0.
enum class Order { nchw, nhwc, blocks };

/// Two codes of at most 4 bits in a byte; a run that ends within a byte is filled with 0.
enum class Packing { none, low_first, high_first };

/// Rows and columns around each image.
struct Border {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  bool operator==(const Border&) const = default;
  bool empty() const { return *this == Border{}; }
};

struct Layout {
  Order order = Order::nchw;
  int64_t block = 32;  ///< channels in a block, where there are blocks
  Packing packing = Packing::none;
  bool offset = false;  ///< the top bit of each code is flipped: u8 less 128 is i8
  Border border = {};
  bool big_endian = false;
  bool operator==(const Layout&) const = default;
};

/// "nchw", "nhwc", "ndhwc32".
std::string order_text(const Layout& layout);
/// Throws, starting with `where`, for what is none of these; blocks have 2 to 1024 channels.
void set_order(Layout& layout, std::string_view text, const std::string& where);

std::string_view name(Packing packing);
/// Throws, starting with `where`, for what is not none, low_first or high_first.
Packing parse_packing(std::string_view text, const std::string& where);

/// "NHWC, two codes in a byte, low nibble first, offset by 128, border [1, 1, 1, 1], big-endian".
std::string describe(const Layout& layout);

/// A tensor as samples of images: [n, c], [n, c, l] and others have extents of 1 or run axes together.
struct ImageDims {
  int64_t n = 1, c = 1, h = 1, w = 1;
  static ImageDims of(std::span<const int64_t> dims);
  int64_t sample() const { return c * h * w; }
  bool operator==(const ImageDims&) const = default;
};

/// `layout` as a value of these extents and codes has it: without blocks, borders and pairs where it has no images, or
/// codes of more than 4 bits; nothing of it but the order for reals.
Layout layout_for(const Layout& layout, std::span<const int64_t> dims, DType type, int bits);

/// Where the elements of a sample lie: in cells, each of which is an element, or half a byte of a packed one.
struct Cells {
  int64_t c_block = 0;  ///< cells from one block of channels to the next
  int64_t c = 0, h = 0, w = 0;
  int64_t origin = 0;  ///< of the first element, behind the border
  int64_t total = 0;   ///< in a sample, filling included
  int64_t block = 1;   ///< channels in a block

  static Cells of(const ImageDims& dims, const Layout& layout);
  int64_t at(int64_t channel, int64_t row, int64_t column) const {
    return origin + channel / block * c_block + channel % block * c + row * h + column * w;
  }
};

/// Bytes of one sample.
int64_t sample_bytes(const ImageDims& dims, DType type, const Layout& layout);

/// Samples of a tensor as bytes; what stands in borders is `border_code`.
std::vector<std::byte> encode(const Tensor& tensor, const Layout& layout, int64_t border_code = 0);

/// The inverse: `bytes` are whole samples of `dims` (their own number of samples does not count).
Tensor decode(std::span<const std::byte> bytes, DType type, Dims dims, const Layout& layout);

/// The extents of what `encode` gives as an array, and the type of its elements: bytes where it is packed.
Type stored_type(const Type& type, const Layout& layout);

}  // namespace halfstep::board

// Layouts of codes in memory and files of a board. See docs/guides/debug_board.md.
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

/// Order of elements in a sample. `blocks` is [ceil(c / block), h, w, block], and channels beyond the last are 0.
enum class Order { nchw, nhwc, blocks };

/// Two codes of at most 4 bits in a byte. A run with an odd number of codes is padded with 0.
enum class Packing { none, low_first, high_first };
/// Names of the enumerators, as options take them.
constexpr std::array<std::string_view, 3> choices_of(Packing) { return {"none", "low_first", "high_first"}; }

/// An order, and the channels of its blocks, as options name them: "nchw", "nhwc", "ndhwc32".
struct ElementOrder {
  Order order = Order::nchw;
  int64_t block = 32;  ///< for Order::blocks
};

/// Rows and columns around each image.
struct Border {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  bool operator==(const Border&) const = default;
  bool empty() const { return *this == Border{}; }
};

struct Layout {
  Order order = Order::nchw;
  int64_t block = 32;  ///< channels in a block, for Order::blocks
  Packing packing = Packing::none;
  bool offset = false;  ///< the top bit of each code is flipped: u8 minus 128 is i8
  Border border = {};
  bool big_endian = false;
  bool operator==(const Layout&) const = default;
};

/// "nchw", "nhwc", "ndhwc32".
std::string to_text(const ElementOrder& order);
std::string order_text(const Layout& layout);
/// Parses an order. A block has 2 to 1024 channels. Throws for other texts, with a message that starts with `where`.
ElementOrder parse_order(std::string_view text, const std::string& where);
void set_order(Layout& layout, const ElementOrder& order);

std::string_view name(Packing packing);
/// Throws for texts other than none, low_first or high_first, with a message that starts with `where`.
Packing parse_packing(std::string_view text, const std::string& where);

/// For example "NHWC, two codes in a byte, low nibble first, offset by 128, with a border [1, 1, 1, 1], big-endian".
std::string describe(const Layout& layout);

/// A tensor as samples of images. [n, c] and [n, c, l] get extents of 1, and more than four axes are merged.
struct ImageDims {
  int64_t n = 1, c = 1, h = 1, w = 1;
  static ImageDims of(std::span<const int64_t> dims);
  int64_t sample() const { return c * h * w; }
  bool operator==(const ImageDims&) const = default;
};

/// `layout` restricted to the properties that a value of this shape, type and bits can have. Without images it has no
/// border. Codes of more than 4 bits are not packed. Float values only keep the order.
Layout layout_for(const Layout& layout, std::span<const int64_t> dims, DType type, int bits);

/// Positions of a sample's elements in cells. A cell is one element, or half a byte if packed.
struct Cells {
  int64_t c_block = 0;  ///< cells between consecutive blocks of channels
  int64_t c = 0, h = 0, w = 0;
  int64_t origin = 0;  ///< cell of the first element, after the border
  int64_t total = 0;   ///< cells in a sample, including padding
  int64_t block = 1;   ///< channels in a block

  static Cells of(const ImageDims& dims, const Layout& layout);
  int64_t at(int64_t channel, int64_t row, int64_t column) const {
    return origin + channel / block * c_block + channel % block * c + row * h + column * w;
  }
};

/// Bytes of one sample.
int64_t sample_bytes(const ImageDims& dims, DType type, const Layout& layout);

/// Encodes samples of a tensor as bytes. Borders have the value `border_code`.
std::vector<std::byte> encode(const Tensor& tensor, const Layout& layout, int64_t border_code = 0);

/// The inverse of encode. `bytes` are whole samples. The number of samples in `dims` is ignored.
Tensor decode(std::span<const std::byte> bytes, DType type, Dims dims, const Layout& layout);

/// Shape and element type of the result of `encode` as an array. Packed codes are bytes.
Type stored_type(const Type& type, const Layout& layout);

}  // namespace halfstep::board

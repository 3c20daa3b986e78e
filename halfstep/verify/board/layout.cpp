#include "halfstep/verify/board/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "halfstep/verify/board/errors.h"

namespace halfstep::board {
namespace {

constexpr std::string_view kBlocks = "ndhwc";
constexpr int64_t kMostBlock = 1024;

int64_t even(int64_t count) { return count + count % 2; }
bool packed(const Layout& layout) { return layout.packing != Packing::none; }

/// Bit position of the cell's half in its byte.
int shift_of(int64_t cell, Packing packing) { return (cell % 2 == 0) == (packing == Packing::low_first) ? 0 : 4; }

/// Converts the bits of an element to their stored form.
template <class T>
T turned(T bits, const Layout& layout) {
  if (layout.offset) bits = static_cast<T>(bits ^ T(T(1) << (8 * sizeof(T) - 1)));
  if constexpr (sizeof(T) == 2) return layout.big_endian ? __builtin_bswap16(bits) : bits;
  if constexpr (sizeof(T) == 4) return layout.big_endian ? __builtin_bswap32(bits) : bits;
  if constexpr (sizeof(T) == 8) return layout.big_endian ? __builtin_bswap64(bits) : bits;
  return bits;
}

/// The inverse of turned(): swaps the byte order before the sign bit.
template <class T>
T unturned(T bits, const Layout& layout) {
  Layout order = layout, offset = layout;
  order.offset = false;
  offset.big_endian = false;
  return turned(turned(bits, order), offset);
}

/// Calls visit(element, cell) for the first element of each row of pixels. Visits one row of all channels at a time, so
/// that it stays in the cache for every order.
template <class F>
void each_row(const ImageDims& dims, const Cells& cells, F visit) {
  for (int64_t h = 0; h < dims.h; ++h) {
    for (int64_t c = 0; c < dims.c; ++c) visit((c * dims.h + h) * dims.w, cells.at(c, h, 0));
  }
}

/// Calls visit(element, cell) for all elements of a sample.
template <class F>
void each_element(const ImageDims& dims, const Cells& cells, F visit) {
  each_row(dims, cells, [&](int64_t element, int64_t cell) {
    for (int64_t w = 0; w < dims.w; ++w, cell += cells.w) visit(element++, cell);
  });
}

template <class T>
void encode_sample(const T* from, std::byte* to, const ImageDims& dims, const Cells& cells, const Layout& layout) {
  if (packed(layout)) {
    each_element(dims, cells, [&](int64_t element, int64_t cell) {
      const auto nibble = static_cast<unsigned>(from[element]) & 15U;
      const unsigned bits = layout.offset ? nibble ^ 8U : nibble;
      to[cell / 2] |= static_cast<std::byte>(bits << shift_of(cell, layout.packing));
    });
    return;
  }
  each_element(dims, cells, [&](int64_t element, int64_t cell) {
    const T bits = turned(from[element], layout);
    std::memcpy(to + cell * static_cast<int64_t>(sizeof(T)), &bits, sizeof(T));
  });
}

template <class T>
void decode_sample(const std::byte* from, T* to, const ImageDims& dims, const Cells& cells, const Layout& layout,
                   bool is_signed) {
  if (packed(layout)) {
    each_element(dims, cells, [&](int64_t element, int64_t cell) {
      unsigned bits = static_cast<unsigned>(from[cell / 2]) >> shift_of(cell, layout.packing) & 15U;
      if (layout.offset) bits ^= 8U;
      to[element] = static_cast<T>(is_signed && bits > 7 ? bits - 16U : bits);
    });
    return;
  }
  const auto bits_at = [&](int64_t cell) {
    T bits;
    std::memcpy(&bits, from + cell * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return bits;
  };
  if (layout.offset || layout.big_endian)
    each_element(dims, cells, [&](int64_t element, int64_t cell) { to[element] = unturned(bits_at(cell), layout); });
  else if (cells.w == 1)
    each_row(dims, cells, [&](int64_t element, int64_t cell) {
      std::memcpy(to + element, from + cell * static_cast<int64_t>(sizeof(T)), static_cast<size_t>(dims.w) * sizeof(T));
    });
  else
    each_element(dims, cells, [&](int64_t element, int64_t cell) { to[element] = bits_at(cell); });
}

/// Calls visit with a zero of the unsigned integer type that has the element's size.
template <class F>
void with_bits(DType type, F visit) {
  switch (size_of(type)) {
    case 1: return visit(uint8_t{});
    case 2: return visit(uint16_t{});
    case 4: return visit(uint32_t{});
    default: return visit(uint64_t{});
  }
}

/// Adds a border of the given code around each image.
Tensor bordered(const Tensor& tensor, const Border& border, int64_t code) {
  Dims dims = tensor.dims();
  const int64_t rows = dims[2], columns = dims[3];
  dims[2] += border.top + border.bottom;
  dims[3] += border.left + border.right;
  Tensor result(tensor.dtype(), dims);
  with_bits(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto* from = reinterpret_cast<const T*>(tensor.raw());
    auto* to = reinterpret_cast<T*>(result.raw());
    std::fill(to, to + result.size(), static_cast<T>(code));
    for (int64_t image = 0; image < dims[0] * dims[1]; ++image) {
      for (int64_t row = 0; row < rows; ++row)
        std::copy_n(from + (image * rows + row) * columns, columns,
                    to + (image * dims[2] + row + border.top) * dims[3] + border.left);
    }
  });
  return result;
}

DType other_sign(DType type) {
  switch (type) {
    case DType::u8: return DType::i8;
    case DType::i8: return DType::u8;
    case DType::u16: return DType::i16;
    case DType::i16: return DType::u16;
    default: return type;
  }
}

}  // namespace

std::string to_text(const ElementOrder& order) {
  if (order.order == Order::blocks) return fmt::format("{}{}", kBlocks, order.block);
  return order.order == Order::nhwc ? "nhwc" : "nchw";
}

std::string order_text(const Layout& layout) { return to_text({layout.order, layout.block}); }

ElementOrder parse_order(std::string_view text, const std::string& where) {
  if (text == "nhwc") return {Order::nhwc};
  if (text == "nchw") return {Order::nchw};
  ElementOrder order{Order::blocks};
  const std::string_view number = text.starts_with(kBlocks) ? text.substr(kBlocks.size()) : "";
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), order.block);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() || order.block < 2 ||
      order.block > kMostBlock)
    fail(errors::dump_layout_unknown(
        where, text, fmt::format("nchw, nhwc or ndhwcB, as in ndhwc32: blocks of B channels, 2 to {}", kMostBlock)));
  return order;
}

void set_order(Layout& layout, const ElementOrder& order) {
  layout.order = order.order;
  layout.block = order.block;
}

std::string_view name(Packing packing) { return choices_of(packing)[static_cast<size_t>(packing)]; }

Packing parse_packing(std::string_view text, const std::string& where) {
  constexpr auto kNames = choices_of(Packing());
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) fail(errors::dump_layout_unknown(where, text, "none, low_first or high_first"));
  return static_cast<Packing>(found - kNames.begin());
}

std::string describe(const Layout& layout) {
  std::string text = order_text(layout);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (packed(layout))
    text +=
        fmt::format(", two codes in a byte, {} nibble first", layout.packing == Packing::low_first ? "low" : "high");
  if (layout.offset) text += ", offset by 128";
  if (const Border& b = layout.border; !b.empty())
    text += fmt::format(", with a border [{}, {}, {}, {}]", b.top, b.bottom, b.left, b.right);
  return layout.big_endian ? text + ", big-endian" : text;
}

ImageDims ImageDims::of(std::span<const int64_t> dims) {
  ImageDims image;
  if (dims.empty()) return image;
  if (dims.size() == 1) return {1, dims[0], 1, 1};
  image.n = dims[0];
  image.c = dims[1];
  if (dims.size() == 2) return image;
  image.w = dims.back();
  image.h = count_elements(dims.subspan(2, dims.size() - 3));
  return image;
}

Layout layout_for(const Layout& layout, std::span<const int64_t> dims, DType type, int bits) {
  Layout own = layout;
  const bool codes = !is_float(type);
  if (dims.size() < 2 || (dims.size() == 2 && own.order == Order::nchw)) own.order = Order::nhwc;
  if (dims.size() != 4) own.border = {};
  if (bits > 4 || !codes) own.packing = Packing::none;
  if (!codes || size_of(type) > 2) own.offset = false;
  if (size_of(type) == 1) own.big_endian = false;
  if (own.order != Order::blocks) own.block = Layout{}.block;
  return own;
}

Cells Cells::of(const ImageDims& dims, const Layout& layout) {
  const Border& border = layout.border;
  const int64_t rows = dims.h + border.top + border.bottom, columns = dims.w + border.left + border.right;
  const auto run = [&](int64_t count) { return packed(layout) ? even(count) : count; };
  Cells cells;
  cells.block = std::max<int64_t>(1, dims.c);
  switch (layout.order) {
    case Order::nchw:
      cells.w = 1;
      cells.h = run(columns);
      cells.c = rows * cells.h;
      cells.total = dims.c * cells.c;
      break;
    case Order::nhwc:
      cells.c = 1;
      cells.w = run(dims.c);
      cells.h = columns * cells.w;
      cells.total = rows * cells.h;
      break;
    case Order::blocks:
      cells.block = layout.block;
      cells.c = 1;
      cells.w = run(layout.block);
      cells.h = columns * cells.w;
      cells.c_block = rows * cells.h;
      cells.total = (dims.c + layout.block - 1) / layout.block * cells.c_block;
      break;
  }
  cells.origin = border.top * cells.h + border.left * cells.w;
  return cells;
}

int64_t sample_bytes(const ImageDims& dims, DType type, const Layout& layout) {
  const int64_t cells = Cells::of(dims, layout).total;
  return packed(layout) ? cells / 2 : cells * static_cast<int64_t>(size_of(type));
}

std::vector<std::byte> encode(const Tensor& tensor, const Layout& layout, int64_t border_code) {
  if (!layout.border.empty()) {
    Layout inner = layout;
    inner.border = {};
    return encode(bordered(tensor, layout.border, border_code), inner);
  }
  const ImageDims dims = ImageDims::of(tensor.dims());
  const Cells cells = Cells::of(dims, layout);
  const int64_t bytes = sample_bytes(dims, tensor.dtype(), layout);
  std::vector<std::byte> result(static_cast<size_t>(bytes * dims.n));
  with_bits(tensor.dtype(), [&](auto zero) {
    const auto* from = reinterpret_cast<const decltype(zero)*>(tensor.raw());
    for (int64_t n = 0; n < dims.n; ++n)
      encode_sample(from + n * dims.sample(), result.data() + n * bytes, dims, cells, layout);
  });
  return result;
}

Tensor decode(std::span<const std::byte> bytes, DType type, Dims dims, const Layout& layout) {
  ImageDims image = ImageDims::of(dims);
  const int64_t each = sample_bytes(image, type, layout);
  const int64_t samples = each == 0 ? 0 : static_cast<int64_t>(bytes.size()) / each;
  if (dims.size() > 1) dims[0] = samples;
  Tensor result = Tensor::uninitialized(type, std::move(dims));
  const Cells cells = Cells::of(image, layout);
  with_bits(type, [&](auto zero) {
    using T = decltype(zero);
    auto* to = reinterpret_cast<T*>(result.raw());
    for (int64_t n = 0; n < samples; ++n)
      decode_sample(bytes.data() + n * each, to + n * image.sample(), image, cells, layout, is_signed(type));
  });
  return result;
}

Type stored_type(const Type& type, const Layout& layout) {
  const auto run = [&](int64_t count) { return packed(layout) ? even(count) / 2 : count; };
  const DType stored = packed(layout) ? DType::u8 : layout.offset ? other_sign(type.dtype) : type.dtype;
  Dims dims = type.dims;
  if (dims.size() < 2) {
    if (!dims.empty()) dims[0] = run(dims[0]);
    return {stored, dims};
  }
  if (dims.size() == 4) {
    dims[2] += layout.border.top + layout.border.bottom;
    dims[3] += layout.border.left + layout.border.right;
  }
  const int64_t channels = dims[1];
  if (layout.order == Order::nhwc) {
    dims.erase(dims.begin() + 1);
    dims.push_back(channels);
  } else if (layout.order == Order::blocks) {
    dims[1] = (channels + layout.block - 1) / layout.block;
    dims.push_back(layout.block);
  }
  dims.back() = run(dims.back());
  return {stored, dims};
}

}  // namespace halfstep::board

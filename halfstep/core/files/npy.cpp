#include "halfstep/core/files/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/little_endian.h"

namespace halfstep::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Description {
  std::string_view text;  ///< spelling in `descr`, without the byte order
  DType dtype;
};
constexpr std::array<Description, 13> kDescriptions = {{{"f4", DType::f32},
                                                        {"f8", DType::f64},
                                                        {"f2", DType::f16},
                                                        {"i1", DType::i8},
                                                        {"u1", DType::u8},
                                                        {"i2", DType::i16},
                                                        {"u2", DType::u16},
                                                        {"i4", DType::i32},
                                                        {"i8", DType::i64},
                                                        {"u4", DType::u32},
                                                        {"u8", DType::u64},
                                                        {"b1", DType::boolean},
                                                        {"i1", DType::i4}}};

struct NpyHeader {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<Dims> shape;
};

/// Parses the header, a literal of a Python dictionary with three known keys.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NpyHeader parse() {
    NpyHeader header;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !header.descr) {
        header.descr = quoted();
      } else if (key == "fortran_order" && !header.fortran_order) {
        header.fortran_order = boolean();
      } else if (key == "shape" && !header.shape) {
        header.shape = shape();
      } else {
        fail(errors::npy_key_unexpected(where_, key));
      }
      if (!accept(',') && peek() != '}') damaged();
    }
    if (peek() != '\0' || !header.descr || !header.fortran_order || !header.shape) damaged();
    return header;
  }

 private:
  [[noreturn]] void damaged() const { fail(errors::npy_header_damaged(where_, at_)); }

  /// Returns the next character that is not a space, or '\0' at the end.
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) damaged();
  }
  std::string quoted() {
    const char quote = peek();
    if (quote == '[')
      fail(errors::npy_type_unsupported(where_, "a structured array", "save each field as its own array"));
    if (quote != '\'' && quote != '"') damaged();
    const size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) damaged();
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (peek() != word[0] || text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    damaged();
  }
  Dims shape() {
    constexpr size_t kMaxRank = 64;  // NumPy's own bound
    Dims dims;
    expect('(');
    while (!accept(')')) {
      int64_t extent = 0;
      peek();
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0 || dims.size() == kMaxRank) damaged();
      at_ = static_cast<size_t>(end - text_.data());
      dims.push_back(extent);
      if (!accept(',') && peek() != ')') damaged();
    }
    return dims;
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
};

DType dtype_of(const std::string& descr, const std::string& where) {
  if (descr.size() > 1) {
    const auto found = std::find_if(kDescriptions.begin(), kDescriptions.end(),
                                    [&](const Description& d) { return descr.substr(1) == d.text; });
    const bool native = descr[0] == '<' || descr[0] == '=' || descr[0] == '|';
    if (found != kDescriptions.end() && native) return found->dtype;
    if (found != kDescriptions.end() && descr[0] == '>')
      fail(errors::npy_type_unsupported(where, fmt::format("an array of '{}'", descr),
                                        fmt::format("save array.astype('<{}')", descr.substr(1))));
  }
  const bool is_complex = descr.size() > 1 && descr[1] == 'c';
  fail(errors::npy_type_unsupported(
      where, fmt::format("an array of '{}'", descr),
      is_complex ? "save array.real and array.imag separately, as float32" : "save numbers (array.astype('float32'))"));
}

/// Transposes `columns`, whose first axis is contiguous, to a tensor whose last axis is contiguous. Both have shape
/// `dims`.
Tensor from_fortran_order(const std::byte* columns, DType dtype, const Dims& dims) {
  Tensor rows(dtype, dims);
  const size_t width = size_of(dtype);
  std::vector<int64_t> index(dims.size(), 0);
  for (int64_t from = 0; from < rows.size(); ++from) {
    int64_t to = 0;
    for (size_t axis = 0; axis < dims.size(); ++axis) to = to * dims[axis] + index[axis];
    std::copy_n(columns + static_cast<size_t>(from) * width, width, rows.raw() + static_cast<size_t>(to) * width);
    for (size_t axis = 0; axis < dims.size() && ++index[axis] == dims[axis]; ++axis) index[axis] = 0;
  }
  return rows;
}

/// Returns the length of the header and advances `bytes` to its start.
size_t header_length(std::span<const std::byte>& bytes, const std::string& where) {
  const auto matches = [](char wanted, std::byte found) { return std::byte(wanted) == found; };
  if (bytes.size() < 12 || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin(), matches))
    fail(errors::not_an_npy(where));
  const int version = static_cast<int>(bytes[kMagic.size()]);
  if (version < 1 || version > 3) fail(errors::npy_version_unsupported(where, version));
  bytes = bytes.subspan(kMagic.size() + 2);
  const size_t length = version == 1 ? load_little_endian<uint16_t>(bytes) : load_little_endian<uint32_t>(bytes);
  bytes = bytes.subspan(version == 1 ? 2 : 4);
  if (length > bytes.size()) fail(errors::npy_size(where, fmt::format("{} bytes of header", bytes.size()), length));
  return length;
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& where) {
  const size_t length = header_length(bytes, where);
  const NpyHeader header = HeaderParser({reinterpret_cast<const char*>(bytes.data()), length}, where).parse();
  const auto data = bytes.subspan(length);
  const DType dtype = dtype_of(*header.descr, where);
  const Dims& dims = *header.shape;
  // Checked before any allocation: the array must not be larger than the bytes that hold it.
  uint64_t expected = size_of(dtype);
  bool fits = true;
  for (const int64_t extent : dims) {
    fits =
        fits && extent <= kMaxElements && !__builtin_mul_overflow(expected, static_cast<uint64_t>(extent), &expected);
  }
  if (!fits || expected != data.size())
    fail(errors::npy_size(where, fmt::format("{} bytes of data", data.size()),
                          fmt::format("the bytes of {}", to_string(Type{dtype, dims}))));
  Tensor tensor =
      *header.fortran_order && dims.size() > 1 ? from_fortran_order(data.data(), dtype, dims) : Tensor(dtype, dims);
  if (!*header.fortran_order || dims.size() <= 1) std::copy(data.begin(), data.end(), tensor.raw());
  if (dtype == DType::boolean && std::any_of(data.begin(), data.end(), [](std::byte b) { return b > std::byte{1}; }))
    fail(errors::boolean_damaged(where));
  return tensor;
}

std::vector<std::byte> serialize_npy(const Tensor& tensor, const std::string& where) {
  const auto found = std::find_if(kDescriptions.begin(), kDescriptions.end(),
                                  [&](const Description& d) { return d.dtype == tensor.dtype(); });
  if (found == kDescriptions.end()) fail(errors::npz_without_type(where, name(tensor.dtype())));
  const char order = size_of(tensor.dtype()) == 1 ? '|' : '<';
  std::string shape;
  for (const int64_t extent : tensor.dims()) shape += std::to_string(extent) + (tensor.dims().size() == 1 ? "," : ", ");
  if (tensor.dims().size() > 1) shape.resize(shape.size() - 2);
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, found->text, shape);
  constexpr size_t kPrefix = 10, kDataAlignment = 64;
  const size_t padded = round_up(kPrefix + header.size() + 1, kDataAlignment) - kPrefix;
  header.resize(padded - 1, ' ');
  header += '\n';
  HS_CHECK(header.size() <= UINT16_MAX);

  std::vector<std::byte> bytes;
  const auto append = [&](std::string_view text) {
    const auto piece = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  };
  append(kMagic);
  append(std::string_view("\x01\x00", 2));
  append_little_endian(bytes, static_cast<uint16_t>(header.size()));
  append(header);
  bytes.insert(bytes.end(), tensor.raw(), tensor.raw() + tensor.bytes());
  return bytes;
}

}  // namespace halfstep::io

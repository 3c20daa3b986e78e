#include "halfstep/core/files/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/little_endian.h"
#include "halfstep/core/files/safetensors_header.h"

namespace halfstep::io {
namespace {

constexpr size_t kLengthBytes = 8;

struct DTypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array<DTypeName, 15> kDTypes = {{{"F32", DType::f32},
                                                {"F64", DType::f64},
                                                {"F16", DType::f16},
                                                {"BF16", DType::bf16},
                                                {"I8", DType::i8},
                                                {"U8", DType::u8},
                                                {"I16", DType::i16},
                                                {"U16", DType::u16},
                                                {"I32", DType::i32},
                                                {"I64", DType::i64},
                                                {"U32", DType::u32},
                                                {"U64", DType::u64},
                                                {"BOOL", DType::boolean},
                                                {"F8_E4M3", DType::f8_e4m3fn},
                                                {"F8_E5M2", DType::f8_e5m2}}};

auto find_format_name(DType dtype) {
  return std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeName& d) { return d.dtype == dtype; });
}

std::string_view format_name(DType dtype) {
  HS_CHECK(safetensors_has(dtype));
  return find_format_name(dtype)->name;
}

DType dtype_of(const HeaderEntry& entry, const std::string& where) {
  for (const DTypeName& known : kDTypes) {
    if (known.name == entry.dtype) return known.dtype;
  }
  for (const std::string_view other : {"U32", "U64", "F8_E8M0", "F4", "C64"}) {
    if (other == entry.dtype) fail(errors::safetensors_type_unsupported(where, entry.dtype));
  }
  fail(errors::safetensors_type_unknown(where, entry.dtype));
}

/// Returns the size of the tensor in bytes, without overflow. Returns nullopt if it would exceed `limit`. For an empty
/// tensor this also holds if its other extents would exceed every limit.
std::optional<uint64_t> byte_count(const Dims& shape, DType dtype, uint64_t limit) {
  uint64_t bytes = size_of(dtype);
  for (const int64_t extent : shape) {
    if (extent < 0 || extent > kMaxElements) return std::nullopt;
    if (extent != 0 && __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) return std::nullopt;
  }
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  return bytes <= limit ? std::optional(bytes) : std::nullopt;
}

/// A tensor with a verified position in the data.
struct Piece {
  const std::string* name;
  Type type;
  uint64_t begin, end;
};

Piece check_entry(const std::string& name, const HeaderEntry& entry, uint64_t data_size, const std::string& where) {
  constexpr size_t kMaxRank = 64;
  const DType dtype = dtype_of(entry, where);
  if (entry.shape.size() > kMaxRank)
    fail(errors::safetensors_header_value(where, fmt::format("{} dims", entry.shape.size()),
                                          fmt::format("at most {}", kMaxRank)));
  if (entry.offsets.size() != 2)
    fail(errors::safetensors_header_value(where, fmt::format("{} data_offsets", entry.offsets.size()), 2));
  const auto begin = static_cast<uint64_t>(entry.offsets[0]);
  const auto end = static_cast<uint64_t>(entry.offsets[1]);
  if (begin > end || end > data_size) fail(errors::safetensors_offsets(where, begin, end, data_size));
  if (byte_count(entry.shape, dtype, data_size) != end - begin)
    fail(errors::safetensors_size(where, entry.dtype + to_string(entry.shape), end - begin));
  return {&name, {dtype, entry.shape}, begin, end};
}

/// Checks that tensors fill the data without overlap or gap. Runs before any copy, so that a small file cannot request
/// much memory.
void check_layout(std::vector<Piece>& pieces, uint64_t data_size, const std::string& file) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::tie(a.begin, a.end, *a.name) < std::tie(b.begin, b.end, *b.name);
  });
  uint64_t at = 0;
  for (const Piece& piece : pieces) {
    if (piece.begin != at)
      fail(errors::safetensors_layout(fmt::format("{}: tensor '{}'", file, *piece.name),
                                      piece.begin < at ? "it overlaps the one before" : "there is a gap before it",
                                      piece.begin, at));
    at = piece.end;
  }
  if (at != data_size) fail(errors::safetensors_layout(file, "there is a gap after the tensors", at, data_size));
}

Tensor copy_tensor(const Piece& piece, std::span<const std::byte> data, const std::string& file) {
  Tensor tensor(piece.type.dtype, piece.type.dims);
  const auto bytes = data.subspan(piece.begin, piece.end - piece.begin);
  std::copy(bytes.begin(), bytes.end(), tensor.raw());
  if (tensor.dtype() == DType::boolean &&
      std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; }))
    fail(errors::boolean_damaged(fmt::format("{}: tensor '{}'", file, *piece.name)));
  return tensor;
}

[[noreturn]] void fail_on_length(const std::string& name, uint64_t length, uint64_t most) {
  fail(errors::safetensors_header_length(name + ": header length", fmt::format("{} bytes", length),
                                         fmt::format("at most {}", most)));
}

std::string header_text(const TensorFile& file) {
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::string text = "{";
  if (!file.metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : file.metadata) text += quoted(key) + ":" + quoted(value) + ",";
    text.back() = '}';
    text += ",";
  }
  uint64_t at = 0;
  for (const auto& [name, tensor] : file.tensors) {
    text += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}},", quoted(name),
                        format_name(tensor.dtype()), nlohmann::json(tensor.dims()).dump(), at, at + tensor.bytes());
    at += tensor.bytes();
  }
  if (text.back() == ',') text.pop_back();
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the format allows trailing spaces, which align the data
  return text;
}

}  // namespace

bool safetensors_has(DType dtype) { return find_format_name(dtype) != kDTypes.end(); }

TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < kLengthBytes)
    fail(errors::safetensors_header_length(name, fmt::format("{} bytes", bytes.size()),
                                           "a safetensors file with its 8-byte header length"));
  const auto length = load_little_endian<uint64_t>(bytes);
  bytes = bytes.subspan(kLengthBytes);
  if (length > kMaxSafetensorsHeader) fail_on_length(name, length, kMaxSafetensorsHeader);
  if (length > bytes.size()) fail_on_length(name, length, bytes.size());
  const auto data = bytes.subspan(length);
  SafetensorsHeader header =
      parse_safetensors_header({reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(length)}, name);

  TensorFile file;
  file.metadata = std::move(header.metadata);
  std::vector<Piece> pieces;
  for (const auto& [tensor, entry] : header.tensors) {
    pieces.push_back(check_entry(tensor, entry, data.size(), fmt::format("{}: tensor '{}'", name, tensor)));
  }
  check_layout(pieces, data.size(), name);
  for (const Piece& piece : pieces) file.tensors.emplace(*piece.name, copy_tensor(piece, data, name));
  return file;
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_file(path), path.string());
}

std::vector<std::byte> serialize_safetensors(const TensorFile& file) {
  const std::string header = header_text(file);
  size_t size = sizeof(uint64_t) + header.size();
  for (const auto& [name, tensor] : file.tensors) size += tensor.bytes();
  std::vector<std::byte> bytes;
  bytes.reserve(size);
  append_little_endian(bytes, uint64_t{header.size()});
  const auto text = std::as_bytes(std::span(header));
  bytes.insert(bytes.end(), text.begin(), text.end());
  for (const auto& [name, tensor] : file.tensors)
    bytes.insert(bytes.end(), tensor.raw(), tensor.raw() + tensor.bytes());
  return bytes;
}

void write_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  write_file(path, serialize_safetensors(file));
}

}  // namespace halfstep::io

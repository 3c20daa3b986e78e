#include "halfstep/data/datasets/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "halfstep/data/datasets/errors.h"

namespace halfstep::data {
namespace {

std::optional<DType> dtype_of(std::byte code) {
  switch (static_cast<int>(code)) {
    case 0x08: return DType::u8;
    case 0x09: return DType::i8;
    case 0x0B: return DType::i16;
    case 0x0C: return DType::i32;
    case 0x0D: return DType::f32;
    case 0x0E: return DType::f64;
    default: return std::nullopt;
  }
}

struct IdxHeader {
  DType dtype;
  Dims dims;
};

IdxHeader read_header(io::Source& source) {
  std::array<std::byte, 4> magic;
  if (source.read(magic) != magic.size()) fail(errors::idx_truncated(source.name()));
  const auto dtype = dtype_of(magic[2]);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0} || !dtype || magic[3] == std::byte{0})
    fail(errors::not_idx(source.name(),
                         fmt::format("{:02x}{:02x}{:02x}{:02x}", static_cast<int>(magic[0]), static_cast<int>(magic[1]),
                                     static_cast<int>(magic[2]), static_cast<int>(magic[3]))));
  IdxHeader header{*dtype, {}};
  for (int axis = 0; axis < static_cast<int>(magic[3]); ++axis) {
    std::array<std::byte, 4> extent;
    if (source.read(extent) != extent.size()) fail(errors::idx_truncated(source.name()));
    header.dims.push_back(int64_t{static_cast<uint8_t>(extent[0])} << 24 | static_cast<uint8_t>(extent[1]) << 16 |
                          static_cast<uint8_t>(extent[2]) << 8 | static_cast<uint8_t>(extent[3]));
  }
  return header;
}

/// Allocates memory as data arrives, so that a header alone cannot request a large block.
std::vector<std::byte> read_at_most(io::Source& source, uint64_t size) {
  constexpr uint64_t kStep = uint64_t{1} << 20;
  std::vector<std::byte> bytes;
  while (bytes.size() < size) {
    const size_t end = bytes.size();
    const size_t step = static_cast<size_t>(std::min(kStep, size - end));
    bytes.resize(end + step);
    const size_t got = source.read(std::span(bytes).subspan(end));
    bytes.resize(end + got);
    if (got < step) break;
  }
  return bytes;
}

}  // namespace

Tensor read_idx(io::Source& source) {
  const IdxHeader header = read_header(source);
  const std::string type = to_string(Type{header.dtype, header.dims});
  uint64_t size = size_of(header.dtype);
  for (const int64_t extent : header.dims) {
    if (__builtin_mul_overflow(size, static_cast<uint64_t>(extent), &size) || size > kMaxElements)
      fail(errors::idx_size(source.name(), type, "at most 2^48 bytes"));
  }
  const std::vector<std::byte> bytes = read_at_most(source, size);
  if (bytes.size() < size)
    fail(errors::idx_size(source.name(), fmt::format("{} bytes of data", bytes.size()),
                          fmt::format("{} for {}", size, type)));
  std::byte more;
  if (source.read(std::span(&more, 1)) != 0)
    fail(errors::idx_size(source.name(), "more data", fmt::format("{} bytes for {}", size, type)));

  Tensor tensor(header.dtype, header.dims);
  const size_t width = size_of(header.dtype);
  for (size_t i = 0; i < bytes.size(); ++i) tensor.raw()[i - i % width + (width - 1 - i % width)] = bytes[i];
  return tensor;
}

LabelledData read_idx_pair(io::Source& images, io::Source& labels, int64_t classes) {
  LabelledData data{read_idx(images), Tensor()};
  if (data.x.dtype() != DType::u8 || data.x.dims().size() != 3)
    fail(errors::idx_type(images.name(), to_string(data.x.type()), "images: u8[n, height, width]"));
  const Tensor raw = read_idx(labels);
  if (raw.dtype() != DType::u8 || raw.dims().size() != 1)
    fail(errors::idx_type(labels.name(), to_string(raw.type()), "labels: u8[n]"));
  if (raw.size() != data.x.dims()[0])
    fail(errors::labels_and_samples_differ(labels.name(), raw.size(), data.x.dims()[0]));
  data.labels = Tensor(DType::i32, {raw.size()});
  const auto from = raw.data<uint8_t>();
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] >= classes) fail(errors::label_out_of_range(labels.name(), i, from[i], classes - 1));
    data.labels.data<int32_t>()[i] = from[i];
  }
  return data;
}

}  // namespace halfstep::data

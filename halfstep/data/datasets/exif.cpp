#include "halfstep/data/datasets/exif.h"

#include <cstdint>

#include "halfstep/core/files/magic.h"

namespace halfstep::data {
namespace {

/// Reads numbers of either byte order. Past the end they are 0.
struct TiffReader {
  std::span<const std::byte> bytes;
  bool big_endian = false;

  uint32_t number(size_t at, size_t width) const {
    if (at > bytes.size() || bytes.size() - at < width) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < width; ++i)
      value = value << 8 | static_cast<uint32_t>(bytes[at + (big_endian ? i : width - 1 - i)]);
    return value;
  }
};

}  // namespace

int exif_orientation(std::span<const std::byte> tiff) {
  constexpr uint32_t kOrientation = 0x0112;
  constexpr size_t kEntry = 12;
  const TiffReader reader{tiff, io::starts_with(tiff, {'M', 'M', 0, 42})};
  if (!reader.big_endian && !io::starts_with(tiff, {'I', 'I', 42, 0})) return 1;
  const size_t directory = reader.number(4, 4);
  const size_t entries = reader.number(directory, 2);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntry;
    if (reader.number(entry, 2) != kOrientation) continue;
    const uint32_t value = reader.number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace halfstep::data

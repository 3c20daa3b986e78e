#include <fmt/format.h>
#include <zlib.h>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/little_endian.h"
#include "halfstep/core/files/zip.h"

namespace halfstep::io {
namespace {

constexpr uint16_t kVersion = 20;                    // 2.0: the first version with folders and deflate
constexpr uint16_t kDate = (0 << 9) | (1 << 5) | 1;  // 1980-01-01, the first day of the format

/// Appends the fields that local and central headers share, from "version needed" to "extra length".
void append_common(std::vector<std::byte>& to, const std::string& name, uint32_t crc, uint32_t size) {
  append_little_endian(to, kVersion);
  append_little_endian(to, uint16_t{0});  // flags
  append_little_endian(to, uint16_t{0});  // stored
  append_little_endian(to, uint16_t{0});  // midnight
  append_little_endian(to, kDate);
  append_little_endian(to, crc);
  append_little_endian(to, size);
  append_little_endian(to, size);
  append_little_endian(to, static_cast<uint16_t>(name.size()));
  append_little_endian(to, uint16_t{0});  // extra
}

void append_text(std::vector<std::byte>& to, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

uint32_t fitting(size_t size) {
  if (size >= UINT32_MAX) fail(errors::zip_too_large(fmt::format("{} bytes", size), "less than 4 GiB"));
  return static_cast<uint32_t>(size);
}

}  // namespace

std::vector<std::byte> serialize_zip(const std::map<std::string, std::vector<std::byte>>& entries) {
  constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
  if (entries.size() >= UINT16_MAX)
    fail(errors::zip_too_large(fmt::format("{} files", entries.size()), "at most 65534"));
  std::vector<std::byte> bytes, directory;
  for (const auto& [name, contents] : entries) {
    HS_CHECK(name.size() < UINT16_MAX);
    const uint32_t size = fitting(contents.size());
    const auto crc =
        static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(contents.data()), contents.size()));
    append_little_endian(directory, kCentral);
    append_little_endian(directory, kVersion);  // made by
    append_common(directory, name, crc, size);
    append_little_endian(directory, uint16_t{0});  // comment
    append_little_endian(directory, uint16_t{0});  // disk
    append_little_endian(directory, uint16_t{0});  // internal attributes
    append_little_endian(directory, uint32_t{0});  // external attributes
    append_little_endian(directory, fitting(bytes.size()));
    append_text(directory, name);
    append_little_endian(bytes, kLocal);
    append_common(bytes, name, crc, size);
    append_text(bytes, name);
    bytes.insert(bytes.end(), contents.begin(), contents.end());
  }
  const uint32_t start = fitting(bytes.size());
  bytes.insert(bytes.end(), directory.begin(), directory.end());
  append_little_endian(bytes, kEnd);
  append_little_endian(bytes, uint32_t{0});  // disks
  append_little_endian(bytes, static_cast<uint16_t>(entries.size()));
  append_little_endian(bytes, static_cast<uint16_t>(entries.size()));
  append_little_endian(bytes, fitting(directory.size()));
  append_little_endian(bytes, start);
  append_little_endian(bytes, uint16_t{0});  // comment
  return bytes;
}

}  // namespace halfstep::io

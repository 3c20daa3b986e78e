#include <zlib.h>

#include <algorithm>
#include <optional>

#include "halfstep/base/status.h"
#include "halfstep/io/little_endian.h"
#include "halfstep/io/zip.h"

namespace halfstep::io {
namespace {

constexpr size_t kEndSize = 22, kCentralSize = 46, kLocalSize = 30, kZip64LocatorSize = 20, kZip64EndSize = 56;
constexpr uint32_t kEscape32 = UINT32_MAX;  // the value is in the zip64 record

struct Entry {
  std::string name;
  uint16_t flags, method;
  uint32_t crc;
  uint64_t packed, size, local;
};

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::map<std::string, std::vector<std::byte>> read() {
    std::map<std::string, std::vector<std::byte>> contents;
    uint64_t covered = 0;
    const auto [count, start] = find_directory();
    uint64_t at = start;
    for (uint64_t i = 0; i < count; ++i) {
      const Entry entry = read_entry(at);
      covered += entry.packed;
      // Entries that share their data let a small archive grow without bound.
      if (covered > bytes_.size()) fail("{}: entry '{}' overlaps another", file_, entry.name);
      if (!contents.emplace(entry.name, unpack(entry)).second) fail("{}: entry '{}' is given twice", file_, entry.name);
    }
    return contents;
  }

 private:
  template <class T>
  T number(uint64_t at) const {
    return load_little_endian<T>(piece(at, sizeof(T), "a number"));
  }

  std::span<const std::byte> piece(uint64_t at, uint64_t size, std::string_view what) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      fail("{}: {} of {} bytes at byte {} lies beyond the end of the file ({} bytes)", file_, what, size, at,
           bytes_.size());
    return bytes_.subspan(at, size);
  }

  void expect(uint64_t at, uint32_t signature, std::string_view what) const {
    if (number<uint32_t>(at) != signature) fail("{}: byte {}: expected {} of a zip archive", file_, at, what);
  }

  struct Directory {
    uint64_t count, start;
  };

  /// The end record lies within a comment's length (64 KiB) of the end of the file.
  Directory find_directory() const {
    constexpr uint32_t kEnd = 0x06054b50;
    if (bytes_.size() < kEndSize) fail("{}: found {} bytes, expected a zip archive", file_, bytes_.size());
    const uint64_t last = bytes_.size() - kEndSize;
    const uint64_t first = last > UINT16_MAX ? last - UINT16_MAX : 0;
    for (uint64_t at = last + 1; at-- > first;) {
      if (number<uint32_t>(at) != kEnd || number<uint16_t>(at + 20) != last - at) continue;
      const Directory plain{number<uint16_t>(at + 10), number<uint32_t>(at + 16)};
      return plain.count == UINT16_MAX || plain.start == kEscape32 ? zip64_directory(at) : plain;
    }
    fail("{}: found no end record of a zip archive: it is truncated or of another format", file_);
  }

  Directory zip64_directory(uint64_t end) const {
    constexpr uint32_t kLocator = 0x07064b50, kZip64End = 0x06064b50;
    if (end < kZip64LocatorSize) fail("{}: found no zip64 locator", file_);
    expect(end - kZip64LocatorSize, kLocator, "the zip64 locator");
    const auto at = number<uint64_t>(end - kZip64LocatorSize + 8);
    piece(at, kZip64EndSize, "the zip64 end record");
    expect(at, kZip64End, "the zip64 end record");
    return {number<uint64_t>(at + 32), number<uint64_t>(at + 48)};
  }

  /// The central header at `at`, which moves behind it.
  Entry read_entry(uint64_t& at) const {
    constexpr uint32_t kCentral = 0x02014b50;
    piece(at, kCentralSize, "a central header");
    expect(at, kCentral, "a central header");
    const auto name_size = number<uint16_t>(at + 28), extra_size = number<uint16_t>(at + 30);
    const auto name = piece(at + kCentralSize, name_size, "a name");
    Entry entry{{reinterpret_cast<const char*>(name.data()), name.size()},
                number<uint16_t>(at + 8),
                number<uint16_t>(at + 10),
                number<uint32_t>(at + 16),
                number<uint32_t>(at + 20),
                number<uint32_t>(at + 24),
                number<uint32_t>(at + 42)};
    read_zip64_extra(piece(at + kCentralSize + name_size, extra_size, "extra data"), entry);
    at += kCentralSize + name_size + extra_size + number<uint16_t>(at + 32);
    return entry;
  }

  /// Extra field 1 holds, in this order, those of size, packed size and offset that do not fit 32 bits.
  void read_zip64_extra(std::span<const std::byte> extra, Entry& entry) const {
    constexpr uint16_t kZip64 = 1;
    while (extra.size() >= 4) {
      const auto id = load_little_endian<uint16_t>(extra);
      const size_t size = load_little_endian<uint16_t>(extra.subspan(2));
      extra = extra.subspan(4);
      if (size > extra.size()) fail("{}: entry '{}': damaged extra data", file_, entry.name);
      auto values = extra.first(size);
      extra = extra.subspan(size);
      if (id != kZip64) continue;
      for (uint64_t* field : {&entry.size, &entry.packed, &entry.local}) {
        if (*field != kEscape32) continue;
        if (values.size() < 8) fail("{}: entry '{}': damaged zip64 data", file_, entry.name);
        *field = load_little_endian<uint64_t>(values);
        values = values.subspan(8);
      }
    }
  }

  std::vector<std::byte> unpack(const Entry& entry) const {
    constexpr uint16_t kEncrypted = 1, kStored = 0, kDeflated = 8;
    constexpr uint32_t kLocal = 0x04034b50;
    if ((entry.flags & kEncrypted) != 0) unsupported("{}: entry '{}' is encrypted", file_, entry.name);
    piece(entry.local, kLocalSize, "a local header");
    expect(entry.local, kLocal, "a local header");
    const uint64_t start =
        entry.local + kLocalSize + number<uint16_t>(entry.local + 26) + number<uint16_t>(entry.local + 28);
    const auto packed = piece(start, entry.packed, fmt::format("entry '{}'", entry.name));
    std::vector<std::byte> contents;
    if (entry.method == kStored) {
      contents.assign(packed.begin(), packed.end());
    } else if (entry.method == kDeflated) {
      contents = inflated(packed, entry);
    } else {
      unsupported("{}: entry '{}' has compression method {}, supported are 0 (stored) and 8 (deflated)", file_,
                  entry.name, entry.method);
    }
    if (contents.size() != entry.size)
      fail("{}: entry '{}': found {} bytes, expected {}", file_, entry.name, contents.size(), entry.size);
    if (crc32_z(0, reinterpret_cast<const Bytef*>(contents.data()), contents.size()) != entry.crc)
      fail("{}: entry '{}' is damaged: its checksum does not match", file_, entry.name);
    return contents;
  }

  std::vector<std::byte> inflated(std::span<const std::byte> packed, const Entry& entry) const {
    constexpr uint64_t kLargestRatio = 1032;  // deflate codes at most 258 bytes in two bits
    if (entry.size / kLargestRatio > packed.size())
      fail("{}: entry '{}': {} bytes cannot come from {} deflated ones", file_, entry.name, entry.size, packed.size());
    if (std::max<uint64_t>(packed.size(), entry.size) >= UINT32_MAX)
      unsupported("{}: entry '{}': deflated data of 4 GiB or more is not supported", file_, entry.name);
    std::vector<std::byte> contents(entry.size + 1);  // one more, so that data that is too long shows
    z_stream stream{};
    constexpr int kRawDeflate = -15;
    HS_CHECK(inflateInit2(&stream, kRawDeflate) == Z_OK);
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(contents.data());
    stream.avail_out = static_cast<uInt>(contents.size());
    const int result = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    if (result != Z_STREAM_END) fail("{}: entry '{}' is damaged: it does not inflate", file_, entry.name);
    contents.resize(contents.size() - stream.avail_out);
    return contents;
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
};

}  // namespace

std::map<std::string, std::vector<std::byte>> parse_zip(std::span<const std::byte> bytes, const std::string& name) {
  return ZipReader(bytes, name).read();
}

}  // namespace halfstep::io

#include "halfstep/io/archive.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "halfstep/base/status.h"

namespace halfstep::io {
namespace {

constexpr uint64_t kBlock = 512;
using Block = std::array<std::byte, kBlock>;

std::string_view field(const Block& block, size_t at, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(block.data()) + at, size);
  return text.substr(0, text.find('\0'));
}

/// Octal digits, or (GNU) a first byte of 0x80 and a big-endian number; nothing for anything else.
std::optional<uint64_t> parse_number(const Block& block, size_t at, size_t size) {
  uint64_t value = 0;
  if (block[at] == std::byte{0x80}) {
    for (size_t i = 1; i < size; ++i) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | static_cast<uint64_t>(block[at + i]);
    }
    return value;
  }
  std::string_view text = field(block, at, size);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find(' '));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (text.empty()) return 0;
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The sum of all bytes, those of the checksum itself counting as spaces.
uint64_t checksum(const Block& block) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<uint64_t>(block[i]);
  return sum;
}

/// Value of `path` among pax records ("LENGTH KEY=VALUE\n"); nothing when it is not there. False: damaged.
bool find_pax_path(std::string_view records, std::optional<std::string>& path) {
  while (!records.empty()) {
    size_t length = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<size_t>(end - records.data());
    if (error != std::errc() || length > records.size() || length < digits + 2) return false;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    constexpr std::string_view kPath = "path=", kSize = "size=";
    if (record.starts_with(kSize)) return false;  // only for entries of 8 GiB and more, past our bound
    if (record.starts_with(kPath)) path = record.substr(kPath.size());
    records.remove_prefix(length);
  }
  return true;
}

}  // namespace

struct TarReader::Header {
  std::string path;
  uint64_t size;
  char type;
};

/// Nothing at the block of zeros that ends an archive.
std::optional<TarReader::Header> TarReader::read_header() {
  constexpr size_t kName = 0, kSize = 124, kChecksum = 148, kType = 156, kMagic = 257, kPrefix = 345;
  Block block;
  if (source_.read(block) != block.size()) fail("{}: the archive ends early, after {} files", source_.name(), entries_);
  if (std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; })) return std::nullopt;
  if (parse_number(block, kChecksum, 8) != checksum(block))
    fail("{}: found no tar header after {} files: the archive is damaged or of another format", source_.name(),
         entries_);
  const auto size = parse_number(block, kSize, 12);
  Header header{std::string(field(block, kName, 100)), size.value_or(0), static_cast<char>(block[kType])};
  const std::string_view prefix = field(block, kPrefix, 155);
  // GNU's own format puts times where POSIX has the prefix; its magic ends in a space.
  if (field(block, kMagic, 6) == "ustar" && !prefix.empty()) header.path = std::string(prefix) + "/" + header.path;
  if (!size || *size > kMaxEntryBytes)
    fail("{}: file '{}': size is more than {} bytes", source_.name(), header.path, kMaxEntryBytes);
  if (++entries_ > kMaxEntries) fail("{}: more than {} files", source_.name(), kMaxEntries);
  left_ = *size;
  padding_ = (kBlock - *size % kBlock) % kBlock;
  return header;
}

std::optional<std::string> TarReader::next() {
  constexpr uint64_t kMaxNameBytes = uint64_t{1} << 20;
  std::optional<std::string> long_path;
  while (true) {
    skip_contents();
    const auto header = read_header();
    if (!header) return std::nullopt;
    path_ = header->path;
    switch (header->type) {
      case '\0':
      case '0':
      case '7':
        if (long_path) path_ = *std::exchange(long_path, std::nullopt);
        if (!path_.ends_with('/')) return path_;
        break;  // how the oldest format marks a folder
      case '5': long_path.reset(); break;
      case 'g':
      case 'K': break;
      case 'L':
      case 'x': {
        if (header->size > kMaxNameBytes) fail("{}: file '{}': the name is too long", source_.name(), path_);
        std::string text = read_text(header->size);
        if (header->type == 'L') {
          long_path = text.substr(0, text.find('\0'));
        } else if (!find_pax_path(text, long_path)) {
          fail("{}: file '{}': damaged pax header", source_.name(), path_);
        }
        break;
      }
      default:
        fail("{}: '{}' is neither a file nor a folder (type '{}')", source_.name(), path_,
             header->type >= ' ' && header->type <= '~' ? header->type : '?');
    }
  }
}

std::vector<std::byte> TarReader::contents() {
  constexpr uint64_t kStep = uint64_t{1} << 20;  // memory grows with the data that is there
  std::vector<std::byte> bytes;
  while (left_ > 0) {
    const size_t end = bytes.size();
    const auto step = static_cast<size_t>(std::min(left_, kStep));
    bytes.resize(end + step);
    if (source_.read(std::span(bytes).subspan(end)) != step)
      fail("{}: the archive ends early, in file '{}'", source_.name(), path_);
    left_ -= step;
  }
  return bytes;
}

std::string TarReader::read_text(uint64_t size) {
  std::string text(size, '\0');
  if (source_.read(std::as_writable_bytes(std::span(text))) != size)
    fail("{}: the archive ends early, in file '{}'", source_.name(), path_);
  left_ = 0;
  return text;
}

void TarReader::skip_contents() {
  std::array<std::byte, 1 << 14> buffer;
  uint64_t rest = left_ + padding_;
  while (rest > 0) {
    const auto step = static_cast<size_t>(std::min<uint64_t>(rest, buffer.size()));
    if (source_.read(std::span(buffer).first(step)) != step)
      fail("{}: the archive ends early, in file '{}'", source_.name(), path_);
    rest -= step;
  }
  left_ = padding_ = 0;
}

}  // namespace halfstep::io

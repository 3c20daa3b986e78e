// Decompression for Source. gzip uses zlib, because libarchive does not verify its checksums. The other formats use
// libarchive.
#include <zlib.h>

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/libarchive_handle.h"
#include "halfstep/core/files/magic.h"

namespace halfstep::io {
namespace {

class GzipSource : public Source {
 public:
  explicit GzipSource(std::unique_ptr<Source> packed) : Source(packed->name()), packed_(std::move(packed)) {
    constexpr int kLargestWindowWithGzipHeader = 15 + 16;
    HS_CHECK(inflateInit2(&stream_, kLargestWindowWithGzipHeader) == Z_OK);
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  size_t read(std::span<std::byte> to) override {
    size_t done = 0;
    while (done < to.size()) {
      if (stream_.avail_in == 0) refill();
      if (stream_.avail_in == 0 && between_members_) break;
      if (stream_.avail_in == 0) fail(errors::compressed_data_cut_off(name(), "gzip", total_ + done));
      done += inflate_some(to.subspan(done));
    }
    total_ += done;
    return done;
  }

 private:
  void refill() {
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(packed_->read(buffer_));
  }

  size_t inflate_some(std::span<std::byte> to) {
    constexpr size_t kMost = size_t{1} << 30;  // zlib counts in 32 bits
    const size_t room = std::min(to.size(), kMost);
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    between_members_ = result == Z_STREAM_END;
    if (result == Z_STREAM_END) {
      inflateReset(&stream_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail(errors::compressed_data_damaged(name(), "gzip", stream_.msg != nullptr ? stream_.msg : "unknown reason"));
    }
    return room - stream_.avail_out;
  }

  std::unique_ptr<Source> packed_;
  std::array<std::byte, size_t{1} << 16> buffer_;
  z_stream stream_{};
  bool between_members_ = false;
  uint64_t total_ = 0;
};

/// Decompresses one layer only. Nested compression could multiply the size of a small file without bound.
class FilterSource : public Source {
 public:
  FilterSource(std::unique_ptr<Source> packed, int filter) : Source(packed->name()), handle_(std::move(packed)) {
    HS_CHECK(handle_.call(archive_read_append_filter, filter) == ARCHIVE_OK);
    HS_CHECK(handle_.call(archive_read_support_format_raw) == ARCHIVE_OK);
    HS_CHECK(handle_.call(archive_read_support_format_empty) == ARCHIVE_OK);
    // libarchive treats data with an unreadable first byte as empty. Only the stored error reveals it.
    if (handle_.call(archive_read_open1) != ARCHIVE_OK || handle_.call(archive_errno) != 0) fail_read();
    archive_entry* entry;
    const int result = handle_.call(archive_read_next_header, &entry);
    if (result < ARCHIVE_OK) fail_read();
    is_empty_ = result == ARCHIVE_EOF;
  }

  size_t read(std::span<std::byte> to) override {
    const la_ssize_t got = is_empty_ ? 0 : handle_.call(archive_read_data, to.data(), to.size());
    if (got < 0) fail_read();
    return static_cast<size_t>(got);
  }

 private:
  [[noreturn]] void fail_read() {
    const char* filter = handle_.call(archive_filter_name, 0);
    if (handle_.reached_end())
      fail(errors::compressed_data_cut_off(name(), filter,
                                           std::max<la_int64_t>(0, handle_.call(archive_filter_bytes, 0))));
    fail(errors::compressed_data_damaged(name(), filter, handle_.reason()));
  }

  LibarchiveHandle handle_;
  bool is_empty_ = false;
};

/// Checks for "BZh", the level and the magic number of the first block or of the end of an empty file. Three letters
/// alone could begin a file name in a tar.
bool is_bzip2(std::span<const std::byte> start) {
  if (start.size() < 7 || !starts_with(start, {'B', 'Z', 'h'})) return false;
  return starts_with(start.subspan(4), {0x31, 0x41, 0x59}) || starts_with(start.subspan(4), {0x17, 0x72, 0x45});
}

}  // namespace

std::unique_ptr<Source> decompressed(std::unique_ptr<SeekableSource> inner) {
  std::array<std::byte, 7> start;
  const auto magic = std::span<const std::byte>(start).first(inner->read(start));
  inner->seek(0);
  if (starts_with(magic, {0x1f, 0x8b})) return std::make_unique<GzipSource>(std::move(inner));
  if (starts_with(magic, {0x28, 0xb5, 0x2f, 0xfd}))
    return std::make_unique<FilterSource>(std::move(inner), ARCHIVE_FILTER_ZSTD);
  if (starts_with(magic, {0xfd, '7', 'z', 'X', 'Z', 0}))
    return std::make_unique<FilterSource>(std::move(inner), ARCHIVE_FILTER_XZ);
  if (is_bzip2(magic)) return std::make_unique<FilterSource>(std::move(inner), ARCHIVE_FILTER_BZIP2);
  return inner;
}

}  // namespace halfstep::io

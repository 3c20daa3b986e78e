// Helpers with bytes for the tests of readers.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::test {

using Bytes = std::vector<std::byte>;

inline Bytes to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline Bytes first(const Bytes& bytes, size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(count)};
}

inline Bytes joined(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Compresses with one of the ARCHIVE_FILTER_... of libarchive.
inline Bytes packed(const Bytes& bytes, int filter) {
  Bytes out(bytes.size() + (size_t{1} << 17));
  size_t size = 0;
  archive* writer = archive_write_new();
  archive_entry* entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_set_format_raw(writer);
  archive_write_add_filter(writer, filter);
  archive_write_set_bytes_in_last_block(writer, 1);
  archive_write_open_memory(writer, out.data(), out.size(), &size);
  archive_write_header(writer, entry);
  archive_write_data(writer, bytes.data(), bytes.size());
  archive_write_close(writer);
  archive_entry_free(entry);
  archive_write_free(writer);
  return first(out, size);
}

inline Bytes gzipped(const Bytes& bytes) { return packed(bytes, ARCHIVE_FILTER_GZIP); }

}  // namespace halfstep::test

// Archives as streams of files; nothing is extracted.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "halfstep/core/files/libarchive_handle.h"

namespace halfstep::io {

enum class ArchiveForm {
  tar,  ///< POSIX ustar, pax or GNU, compressed or not
  zip   ///< with or without zip64; checksums are compared, encrypted files are `unsupported`
};

/// The files of an archive in its order. Folders are passed over; links and devices are errors.
class ArchiveReader {
 public:
  /// Bounds of what a hostile archive can ask for.
  static constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;
  static constexpr int64_t kMaxEntries = 10'000'000;

  ArchiveReader(std::unique_ptr<SeekableSource> source, ArchiveForm form);

  /// Goes to the next file and gives its path; nothing at the end of the archive.
  std::optional<std::string> next();

  /// Contents of the file that `next` named; once. More than `most` bytes are an error.
  std::vector<std::byte> contents(uint64_t most = kMaxFileBytes);

 private:
  archive_entry* next_entry();
  void require_end();
  [[noreturn]] void fail_header() const;
  [[noreturn]] void fail_file() const;

  ArchiveForm form_;
  LibarchiveHandle handle_;
  int64_t entries_ = 0;
  std::string path_;   ///< of the present file
  uint64_t size_ = 0;  ///< of the present file, as the archive says
};

}  // namespace halfstep::io

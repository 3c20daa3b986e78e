// Reads archives as streams of files, without extracting them to disk.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "halfstep/core/files/libarchive_handle.h"

namespace halfstep::io {

enum class ArchiveForm {
  tar,  ///< POSIX ustar, pax or GNU, compressed or not
  zip   ///< with or without zip64; checksums are verified; encrypted files are `unsupported`
};

/// The files of an archive, in archive order. Folders are skipped. Links and devices are errors.
class ArchiveReader {
 public:
  /// Limits on the work that a hostile archive can cause.
  static constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;
  static constexpr int64_t kMaxEntries = 10'000'000;

  ArchiveReader(std::unique_ptr<SeekableSource> source, ArchiveForm form);

  /// Advances to the next file and returns its path, or nullopt at the end of the archive.
  std::optional<std::string> next();

  /// Returns the contents of the current file. Call it once per file. Throws for more than `most` bytes.
  std::vector<std::byte> contents(uint64_t most = kMaxFileBytes);

 private:
  archive_entry* next_entry();
  void require_end();
  [[noreturn]] void fail_header() const;
  [[noreturn]] void fail_file() const;

  ArchiveForm form_;
  LibarchiveHandle handle_;
  int64_t entries_ = 0;
  std::string path_;   ///< path of the current file
  uint64_t size_ = 0;  ///< size of the current file, as stated by the archive
};

}  // namespace halfstep::io

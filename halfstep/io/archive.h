// Tar archives as a stream of entries; nothing is extracted.
#pragma once

#include <optional>
#include <vector>

#include "halfstep/io/source.h"

namespace halfstep::io {

/// Regular files of a POSIX ustar, pax or GNU tar. Folders are passed over; links and devices are errors.
class TarReader {
 public:
  /// Bounds of what a hostile archive can ask for.
  static constexpr uint64_t kMaxEntryBytes = uint64_t{256} << 20;
  static constexpr int64_t kMaxEntries = 10'000'000;

  explicit TarReader(Source& source) : source_(source) {}

  /// Goes to the next regular file and gives its path; nothing at the end of the archive.
  std::optional<std::string> next();

  /// Contents of the file that `next` named; once.
  std::vector<std::byte> contents();

 private:
  struct Header;
  std::optional<Header> read_header();
  void skip_contents();
  std::string read_text(uint64_t size);

  Source& source_;
  uint64_t left_ = 0;     ///< bytes of the present file not yet read
  uint64_t padding_ = 0;  ///< bytes up to the next block
  int64_t entries_ = 0;
  std::string path_;
};

}  // namespace halfstep::io

// libarchive on a Source.
#pragma once

#include <archive.h>

#include <array>
#include <exception>
#include <utility>

#include "halfstep/core/files/source.h"

namespace halfstep::io {

/// While it lives, names in archives are bytes in UTF-8 for this thread, whatever the locale of the process.
class Utf8Names {
 public:
  Utf8Names();
  ~Utf8Names();
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t before_;
};

/// What reads an archive or compressed data. It knows no format and no compression until it is told.
class LibarchiveHandle {
 public:
  /// Reads in one go.
  explicit LibarchiveHandle(std::unique_ptr<Source> source);
  /// Goes to and fro, for formats whose table is at their end.
  explicit LibarchiveHandle(std::unique_ptr<SeekableSource> source);
  ~LibarchiveHandle();
  LibarchiveHandle(const LibarchiveHandle&) = delete;
  LibarchiveHandle& operator=(const LibarchiveHandle&) = delete;

  /// The result of a function of libarchive with `args` behind the handle; throws what the source threw meanwhile.
  template <class Function, class... Args>
  auto call(Function function, Args... args) {
    const Utf8Names names;
    const auto result = function(archive_, args...);
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    return result;
  }

  const std::string& name() const { return source_->name(); }
  /// The bytes of a seekable source.
  uint64_t size() const { return seekable_->size(); }
  /// Why the last call failed, in libarchive's words.
  std::string reason() const;
  /// Whether more was asked for than the source has: what fails then is cut short.
  bool reached_end() const { return reached_end_; }

 private:
  template <class Action>
  la_int64_t guarded(Action action);
  static la_ssize_t read(archive*, void* self, const void** piece);
  static la_int64_t seek(archive*, void* self, la_int64_t offset, int whence);

  std::unique_ptr<Source> source_;
  SeekableSource* seekable_ = nullptr;
  archive* archive_;
  uint64_t at_ = 0;
  bool reached_end_ = false;
  std::exception_ptr thrown_;
  std::array<std::byte, size_t{1} << 16> buffer_;
};

}  // namespace halfstep::io

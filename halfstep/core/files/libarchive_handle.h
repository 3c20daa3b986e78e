// libarchive reading from a Source.
#pragma once

#include <archive.h>

#include <array>
#include <exception>
#include <utility>

#include "halfstep/core/files/source.h"

namespace halfstep::io {

/// While it exists, this thread treats names in archives as UTF-8, independent of the locale of the process.
class Utf8Names {
 public:
  Utf8Names();
  ~Utf8Names();
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t before_;
};

/// A libarchive reader. The caller must enable formats and compressions.
class LibarchiveHandle {
 public:
  /// Reads sequentially.
  explicit LibarchiveHandle(std::unique_ptr<Source> source);
  /// Reads with seeking, for formats with their table at the end.
  explicit LibarchiveHandle(std::unique_ptr<SeekableSource> source);
  ~LibarchiveHandle();
  LibarchiveHandle(const LibarchiveHandle&) = delete;
  LibarchiveHandle& operator=(const LibarchiveHandle&) = delete;

  /// Calls a function of libarchive with the handle and `args` and returns its result. Rethrows exceptions of the
  /// source.
  template <class Function, class... Args>
  auto call(Function function, Args... args) {
    const Utf8Names names;
    const auto result = function(archive_, args...);
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    return result;
  }

  const std::string& name() const { return source_->name(); }
  /// Size of a seekable source in bytes.
  uint64_t size() const { return seekable_->size(); }
  /// Returns the reason for the last failure, as worded by libarchive.
  std::string reason() const;
  /// Whether libarchive requested bytes beyond the end of the source. A failure then means truncated data.
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

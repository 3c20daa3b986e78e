#include "halfstep/core/files/libarchive_handle.h"

#include <clocale>
#include <cstdio>

#include "halfstep/core/base/status.h"

namespace halfstep::io {

Utf8Names::Utf8Names() {
  static const locale_t kUtf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  before_ = ::uselocale(kUtf8);
}

Utf8Names::~Utf8Names() { ::uselocale(before_); }

LibarchiveHandle::LibarchiveHandle(std::unique_ptr<Source> source)
    : source_(std::move(source)), archive_(archive_read_new()) {
  HS_CHECK(archive_ != nullptr);
  archive_read_set_callback_data(archive_, this);
  archive_read_set_read_callback(archive_, &LibarchiveHandle::read);
}

LibarchiveHandle::LibarchiveHandle(std::unique_ptr<SeekableSource> source)
    : LibarchiveHandle(std::unique_ptr<Source>(std::move(source))) {
  seekable_ = static_cast<SeekableSource*>(source_.get());
  archive_read_set_seek_callback(archive_, &LibarchiveHandle::seek);
}

LibarchiveHandle::~LibarchiveHandle() { archive_read_free(archive_); }

std::string LibarchiveHandle::reason() const {
  const char* text = archive_error_string(archive_);
  return text != nullptr ? text : "unknown reason";
}

/// Catches exceptions, because they must not pass through libarchive, which is C.
template <class Action>
la_int64_t LibarchiveHandle::guarded(Action action) {
  try {
    return static_cast<la_int64_t>(action());
  } catch (...) {
    thrown_ = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

la_ssize_t LibarchiveHandle::read(archive*, void* self, const void** piece) {
  auto& handle = *static_cast<LibarchiveHandle*>(self);
  *piece = handle.buffer_.data();
  return static_cast<la_ssize_t>(handle.guarded([&] {
    const size_t got = handle.source_->read(handle.buffer_);
    handle.at_ += got;
    handle.reached_end_ = got == 0;
    return got;
  }));
}

la_int64_t LibarchiveHandle::seek(archive*, void* self, la_int64_t offset, int whence) {
  auto& handle = *static_cast<LibarchiveHandle*>(self);
  return handle.guarded([&]() -> la_int64_t {
    const uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? handle.at_ : handle.seekable_->size();
    const la_int64_t to = static_cast<la_int64_t>(base) + offset;
    if (to < 0) return ARCHIVE_FATAL;
    handle.seekable_->seek(handle.at_ = static_cast<uint64_t>(to));
    return to;
  });
}

}  // namespace halfstep::io

#include "halfstep/core/files/archive.h"

#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"

namespace halfstep::io {
namespace {

std::filesystem::file_type type_of(archive_entry* entry) {
  using Type = std::filesystem::file_type;
  if (archive_entry_hardlink(entry) != nullptr) return Type::symlink;
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG: return Type::regular;
    case AE_IFDIR: return Type::directory;
    case AE_IFLNK: return Type::symlink;
    case AE_IFIFO: return Type::fifo;
    case AE_IFSOCK: return Type::socket;
    case AE_IFBLK:
    case AE_IFCHR: return Type::block;
    default: return Type::unknown;
  }
}

}  // namespace

ArchiveReader::ArchiveReader(std::unique_ptr<SeekableSource> source, ArchiveForm form)
    : form_(form),
      handle_(form == ArchiveForm::zip ? LibarchiveHandle(std::move(source))
                                       : LibarchiveHandle(decompressed(std::move(source)))) {
  constexpr uint64_t kEmptyZip =
      22;  // libarchive finds the end record of a zip archive without files only from the front
  const auto support = form == ArchiveForm::tar      ? archive_read_support_format_tar
                       : handle_.size() == kEmptyZip ? archive_read_support_format_zip_streamable
                                                     : archive_read_support_format_zip_seekable;
  HS_CHECK(handle_.call(support) == ARCHIVE_OK);
  if (handle_.call(archive_read_open1) != ARCHIVE_OK) fail_header();
}

std::optional<std::string> ArchiveReader::next() {
  using Type = std::filesystem::file_type;
  while (archive_entry* entry = next_entry()) {
    const Type type = type_of(entry);
    if (type == Type::directory) continue;
    if (type != Type::regular) fail(errors::archive_of_other_things(handle_.name(), path_, name_of(type)));
    if (archive_entry_is_encrypted(entry) != 0) fail(errors::archive_file_encrypted(handle_.name(), path_));
    size_ = static_cast<uint64_t>(std::max<int64_t>(0, archive_entry_size(entry)));
    return path_;
  }
  return std::nullopt;
}

/// Returns the next entry (file, folder or other) and sets `path_`. Returns nullptr at the end of the archive.
archive_entry* ArchiveReader::next_entry() {
  if (entries_ > 0 && handle_.call(archive_read_data_skip) != ARCHIVE_OK) fail_file();
  archive_entry* entry = nullptr;
  const int result = handle_.call(archive_read_next_header, &entry);
  if (result == ARCHIVE_EOF) {
    require_end();
    return nullptr;
  }
  if (result != ARCHIVE_OK && result != ARCHIVE_WARN) fail_header();
  const char* path = archive_entry_pathname(entry);
  path_ = path == nullptr ? "" : path;
  if (result == ARCHIVE_WARN) fail_file();  // contradictory names or sizes
  if (++entries_ > kMaxEntries)
    fail(errors::archive_too_large(handle_.name(), fmt::format("{} files", entries_),
                                   fmt::format("at most {}", kMaxEntries)));
  return entry;
}

/// Throws for a tar without the final zeros: it was truncated between two files.
void ArchiveReader::require_end() {
  const int64_t seen = handle_.call(archive_filter_bytes, 0);
  if (form_ == ArchiveForm::tar && seen == handle_.call(archive_read_header_position))
    fail(errors::archive_cut_off(handle_.name(), fmt::format("after {} files", entries_)));
}

void ArchiveReader::fail_header() const {
  if (form_ == ArchiveForm::tar && handle_.reached_end())
    fail(errors::archive_cut_off(handle_.name(), fmt::format("after {} files", entries_)));
  if (entries_ == 0 && form_ == ArchiveForm::zip) fail(errors::zip_without_end(handle_.name()));
  fail(errors::archive_without_header(handle_.name(), form_ == ArchiveForm::tar ? "tar" : "zip", entries_));
}

void ArchiveReader::fail_file() const {
  const std::string reason = handle_.reason();
  if (form_ == ArchiveForm::tar && handle_.reached_end())
    fail(errors::archive_cut_off(handle_.name(), fmt::format("in file '{}'", path_)));
  if (reason.starts_with("Unsupported")) fail(errors::archive_method_unsupported(handle_.name(), path_, reason));
  fail(errors::archive_file_damaged(handle_.name(), path_, reason));
}

std::vector<std::byte> ArchiveReader::contents(uint64_t most) {
  constexpr uint64_t kStep = uint64_t{1} << 20;       // memory grows with the data actually read
  constexpr uint64_t kReserved = uint64_t{64} << 20;  // reserves only addresses until data are written
  if (size_ > most)
    fail(errors::archive_too_large(fmt::format("{}: file '{}'", handle_.name(), path_), fmt::format("{} bytes", size_),
                                   fmt::format("at most {}", most)));
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<size_t>(std::min(size_ + 1, kReserved)));
  // Reads one byte more than the size, because checksums are compared at the end.
  for (size_t wanted = 1, got = 1; got == wanted && bytes.size() <= size_;) {
    const size_t end = bytes.size();
    wanted = static_cast<size_t>(std::min(size_ + 1 - end, kStep));
    bytes.resize(end + wanted);
    const la_ssize_t result = handle_.call(archive_read_data, bytes.data() + end, wanted);
    if (result < 0) fail_file();
    got = static_cast<size_t>(result);
    bytes.resize(end + got);
  }
  if (bytes.size() != size_)
    fail(errors::archive_file_damaged(handle_.name(), path_,
                                      fmt::format("its header has {} bytes, its data {}", size_, bytes.size())));
  return bytes;
}

}  // namespace halfstep::io

#include "halfstep/verify/board/folder.h"

#include <fmt/format.h>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/file.h"
#include "halfstep/verify/board/errors.h"
#include "halfstep/verify/board/value_file.h"

namespace halfstep::board {
namespace fs = std::filesystem;

void require_dump_target(const fs::path& out, bool overwrite) {
  io::require_folder_target(out);
  std::error_code failed;
  if (!fs::exists(out, failed) || fs::is_empty(out, failed)) return;
  if (!overwrite) fail(errors::dump_target_exists(out.string()));
  if (!fs::exists(out / kManifestFile, failed)) fail(errors::dump_target_foreign(out.string()));
}

FolderWriter::FolderWriter(fs::path out, bool overwrite) : out_(std::move(out)) {
  if (!out_.has_filename()) out_ = out_.parent_path();  // for a path such as "dumps/"
  require_dump_target(out_, overwrite);
  claim_ = io::Claim::of_name(out_);
  require_dump_target(out_, overwrite);  // another process may have written it in the meantime
  temporary_.emplace(out_);
}

void FolderWriter::add(Entry& entry, const Tensor& contents) {
  entry.file = file_name(count_++, entry.name, entry.format);
  const auto bytes = file_of(contents, entry);
  entry.bytes = static_cast<int64_t>(bytes.size());
  entry.digests = digests(bytes);
  io::write_file(temporary_->path() / entry.file, bytes, out_);
}

void FolderWriter::finish(const Manifest& manifest) {
  const std::string text = to_text(manifest);
  io::write_file(temporary_->path() / kManifestFile, std::as_bytes(std::span(text)), out_);
  std::error_code failed;
  if (fs::exists(out_, failed)) {
    const io::Claim held = io::Claim::of_folder(out_);  // other processes must not take it for an abandoned folder
    const io::FolderBeside old(out_);
    fs::rename(out_, old.path(), failed);
    if (!failed) fs::rename(temporary_->path(), out_, failed);
    if (failed) {
      const int reason = failed.value();
      fs::rename(old.path(), out_, failed);
      io::fail_to_write(out_, reason);
    }
  } else {
    fs::rename(temporary_->path(), out_, failed);
    if (failed) io::fail_to_write(out_, failed.value());
  }
}

}  // namespace halfstep::board

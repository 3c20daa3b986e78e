#include "halfstep/board/folder.h"

#include <fmt/format.h>

#include "halfstep/board/value_file.h"
#include "halfstep/io/atomic_file.h"
#include "halfstep/io/file.h"

namespace halfstep::board {
namespace {

namespace fs = std::filesystem;

/// A new folder beside `out`.
fs::path folder_beside(const fs::path& out) {
  const fs::path parent = out.has_parent_path() ? out.parent_path() : fs::path(".");
  std::string name = (parent / ".halfstep-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) io::fail_to_make_folder(out, errno);
  fs::permissions(name, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                            fs::perms::others_exec);
  return name;
}

}  // namespace

void require_dump_target(const fs::path& out, bool overwrite) {
  io::require_folder_target(out);
  std::error_code failed;
  if (!fs::exists(out, failed) || fs::is_empty(out, failed)) return;
  if (!overwrite) fail("{}: is there already; replace it (--overwrite), or name another folder", out.string());
  if (!fs::exists(out / kManifestFile, failed))
    fail("{}: is no folder of dumps, which alone are replaced; name another folder", out.string());
}

FolderWriter::FolderWriter(fs::path out, bool overwrite) : out_(std::move(out)) {
  if (!out_.has_filename()) out_ = out_.parent_path();  // "dumps/"
  require_dump_target(out_, overwrite);
  claim_ = io::Claim::of_name(out_);
  require_dump_target(out_, overwrite);  // another process may have written it meanwhile
  temporary_ = folder_beside(out_);
}

FolderWriter::~FolderWriter() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void FolderWriter::add(Entry& entry, const Tensor& contents) {
  entry.file = file_name(count_++, entry.name, entry.format);
  const auto bytes = file_of(contents, entry);
  entry.bytes = static_cast<int64_t>(bytes.size());
  entry.digests = digests(bytes);
  io::write_file(temporary_ / entry.file, bytes, out_);
}

void FolderWriter::finish(const Manifest& manifest) {
  const std::string text = to_text(manifest);
  io::write_file(temporary_ / kManifestFile, std::as_bytes(std::span(text)), out_);
  std::error_code failed;
  if (fs::exists(out_, failed)) {
    const fs::path old = folder_beside(out_);
    fs::rename(out_, old, failed);
    if (!failed) fs::rename(temporary_, out_, failed);
    if (failed) {
      const int reason = failed.value();
      fs::rename(old, out_, failed);
      fail("{}: cannot be replaced: {}", out_.string(), io::system_reason(reason));
    }
    fs::remove_all(old, failed);
  } else {
    fs::rename(temporary_, out_, failed);
    if (failed) io::fail_to_write(out_, failed.value());
  }
  temporary_.clear();
}

}  // namespace halfstep::board

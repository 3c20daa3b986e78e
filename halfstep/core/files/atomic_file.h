// Files that are either whole or not there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace halfstep::io {

/// Writes a temporary file into the folder of `path`, syncs it, renames it over `path` and syncs the folder: after a
/// crash `path` has its old contents or the new ones, and of two writers one wins whole. The temporary's name is random
/// and hidden and it is made for this call alone, so that no file of anybody else is written, followed or removed; a
/// killed process may leave it until a Claim finds it. Where `path` is a link, the link is replaced: what it leads to
/// stays as it is. Throws bad_input with path and reason; then neither `path` is changed nor a temporary left behind.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);
/// The same; messages call the file `shown`.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                const std::filesystem::path& shown);

/// What is to be the contents of a file.
struct NewFile {
  std::filesystem::path path;
  std::span<const std::byte> bytes;
};

/// The same for several: all are on the disk before the first takes its name, in this order; where one cannot be
/// written, none is.
void write_files(const std::vector<NewFile>& files);

/// A new empty folder beside `target` with a hidden name, as the temporaries of write_file have: removed with this
/// object unless somebody has renamed it, and by a Claim where the process was killed. Messages call it `target`.
class FolderBeside {
 public:
  explicit FolderBeside(const std::filesystem::path& target);
  ~FolderBeside();
  FolderBeside(const FolderBeside&) = delete;
  FolderBeside& operator=(const FolderBeside&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

/// Throws what write_file would: where `path` is or leads to something else than a file, or its folder takes no new
/// one. For whoever works long before the file is there.
void require_file_target(const std::filesystem::path& path);

/// Throws where `path` is or leads to something else than a folder; nothing may be there.
void require_folder_target(const std::filesystem::path& path);
/// Makes the folder and those above it where they are missing; throws where it takes no new file.
void make_folder(const std::filesystem::path& path);

}  // namespace halfstep::io

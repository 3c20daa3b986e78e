// Atomic file writes: a file is either complete or absent.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace halfstep::io {

/// Writes a temporary file into the folder of `path`, syncs it, renames it to `path` and syncs the folder. After a
/// crash `path` has either its old or its new contents. Of two concurrent writers, one wins completely. The temporary's
/// name is random and hidden, and each call creates its own. No other file is ever written, followed or removed. A
/// killed process may leave its temporary until a Claim removes it. If `path` is a link, the link is replaced and its
/// target stays unchanged. Throws bad_input with path and reason. Then `path` is unchanged and the temporary removed.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);
/// Writes a file in the same way. Messages name the file `shown`.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                const std::filesystem::path& shown);

/// Path and contents of a file to write.
struct NewFile {
  std::filesystem::path path;
  std::span<const std::byte> bytes;
};

/// Writes several files. All are complete on disk before the first is renamed, and the renames follow this order. If
/// one file cannot be written, none is.
void write_files(const std::vector<NewFile>& files);

/// A new empty folder beside `target`, with a hidden random name like the temporaries of write_file. The destructor
/// removes it unless it was renamed. A Claim removes it if the process was killed. Messages name it `target`.
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

/// Throws the error that write_file would throw: `path` is, or links to, an object other than a file, or its folder
/// accepts no new file. Call it before long work that ends in writing the file.
void require_file_target(const std::filesystem::path& path);

/// Throws if `path` is, or links to, an object other than a folder. A missing path is accepted.
void require_folder_target(const std::filesystem::path& path);
/// Creates the folder and its missing parents. Throws if it accepts no new file.
void make_folder(const std::filesystem::path& path);

}  // namespace halfstep::io

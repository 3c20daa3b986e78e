// Writes a folder of dumps: one file for each value, and manifest.json.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/claim.h"
#include "halfstep/core/files/mapped_file.h"
#include "halfstep/verify/board/manifest.h"

namespace halfstep::board {

/// Writes a folder value by value. The folder appears only after `finish`. Without it, nothing remains.
class FolderWriter {
 public:
  /// Throws if `out` exists. With `overwrite`, an existing folder of dumps is replaced, but no other folder.
  FolderWriter(std::filesystem::path out, bool overwrite);

  /// Writes a file, and sets the entry's file, bytes and digests.
  void add(Entry& entry, const Tensor& contents);
  void finish(const Manifest& manifest);

 private:
  std::filesystem::path out_;
  std::optional<io::Claim> claim_;
  std::optional<io::FolderBeside> temporary_;
  size_t count_ = 0;
};

/// Throws the errors of the writer before any work.
void require_dump_target(const std::filesystem::path& out, bool overwrite);

}  // namespace halfstep::board

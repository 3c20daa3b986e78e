// A folder of dumps: one file for each value, and manifest.json.
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

/// Writes a folder value by value. It is not there before `finish`, and without it nothing is left.
class FolderWriter {
 public:
  /// Throws where `out` is there already and is not replaced; with `overwrite` a folder of dumps is, and no other.
  FolderWriter(std::filesystem::path out, bool overwrite);

  /// Fills in the entry's file, bytes and digests.
  void add(Entry& entry, const Tensor& contents);
  void finish(const Manifest& manifest);

 private:
  std::filesystem::path out_;
  std::optional<io::Claim> claim_;
  std::optional<io::FolderBeside> temporary_;
  size_t count_ = 0;
};

/// Throws what the writer would, before any work.
void require_dump_target(const std::filesystem::path& out, bool overwrite);

}  // namespace halfstep::board

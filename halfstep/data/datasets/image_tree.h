// Named files of images, below a folder or in an archive.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "halfstep/core/files/archive.h"

namespace halfstep::data {

/// Images that can be read in any order, from any thread.
class ImageTree {
 public:
  virtual ~ImageTree() = default;
  /// Paths of the images below the root, with '/' between their parts, sorted; those of kinds that are not read too.
  virtual std::vector<std::string> paths() const = 0;
  /// The file there, or its first `most` bytes. Throws where it cannot be read.
  virtual std::vector<std::byte> contents(const std::string& path, size_t most) const = 0;
};

/// A link could lead out of the folder, in a circle, or to the same image twice; so links are not followed, and what
/// would be an image or a class but for being one, or a pipe, is an error. Hidden files and folders do not count.
class FolderTree : public ImageTree {
 public:
  explicit FolderTree(std::filesystem::path root) : root_(std::move(root)) {}
  std::vector<std::string> paths() const override;
  std::vector<std::byte> contents(const std::string& path, size_t most) const override;

 private:
  std::filesystem::path root_;
};

/// What an archive has: its images in memory as they are stored, and the names of its other files. More than half of
/// the machine's memory is refused.
class ArchiveTree : public ImageTree {
 public:
  ArchiveTree(std::unique_ptr<io::SeekableSource> source, io::ArchiveForm form);
  std::vector<std::string> paths() const override;
  std::vector<std::byte> contents(const std::string& path, size_t most) const override;
  /// Files that are no images, without hidden ones.
  const std::vector<std::string>& others() const { return others_; }

 private:
  std::map<std::string, std::vector<std::byte>> images_;
  std::vector<std::string> others_;
};

}  // namespace halfstep::data

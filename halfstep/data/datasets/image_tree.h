// Image files below a folder or in an archive.
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
  /// Sorted paths of the images below the root, with '/' between their parts, unsupported kinds included.
  virtual std::vector<std::string> paths() const = 0;
  /// The file, or its first `most` bytes. Throws if it cannot be read.
  virtual std::vector<std::byte> contents(const std::string& path, size_t most) const = 0;
};

/// Links are not followed, because a link can lead out of the folder, in a circle, or to the same image twice. A link
/// or pipe in the place of an image or a class is an error. Hidden files and folders are ignored.
class FolderTree : public ImageTree {
 public:
  explicit FolderTree(std::filesystem::path root) : root_(std::move(root)) {}
  std::vector<std::string> paths() const override;
  std::vector<std::byte> contents(const std::string& path, size_t most) const override;

 private:
  std::filesystem::path root_;
};

/// Contents of an archive: its images, undecoded, in memory, and the names of its other files. Throws if they need more
/// than half of the machine's memory.
class ArchiveTree : public ImageTree {
 public:
  ArchiveTree(std::unique_ptr<io::SeekableSource> source, io::ArchiveForm form);
  std::vector<std::string> paths() const override;
  std::vector<std::byte> contents(const std::string& path, size_t most) const override;
  /// Files that are not images, without hidden ones.
  const std::vector<std::string>& others() const { return others_; }

 private:
  std::map<std::string, std::vector<std::byte>> images_;
  std::vector<std::string> others_;
};

}  // namespace halfstep::data

// Images in folders named by class: CLASS/NAME.png, with train/ and test/ above the classes or not.
#pragma once

#include <filesystem>
#include <functional>

#include "halfstep/base/parallel.h"
#include "halfstep/io/archive.h"
#include "halfstep/io/dataset.h"

namespace halfstep::io {

/// Named images that can be gone through twice, in any order: first for their paths, then for their contents.
class ImageTree {
 public:
  using Visit = FunctionRef<void(const std::string& path, std::span<const std::byte> bytes)>;

  virtual ~ImageTree() = default;
  /// Paths of the images below the root, with '/' between their parts.
  virtual std::vector<std::string> paths() const = 0;
  virtual void visit(Visit visit) const = 0;
};

class FolderTree : public ImageTree {
 public:
  explicit FolderTree(std::filesystem::path root) : root_(std::move(root)) {}
  std::vector<std::string> paths() const override;
  void visit(Visit visit) const override;

 private:
  std::filesystem::path root_;
};

class ArchiveTree : public ImageTree {
 public:
  /// `open` gives the archive from its start, each time.
  ArchiveTree(std::function<std::unique_ptr<SeekableSource>()> open, ArchiveForm form)
      : open_(std::move(open)), form_(form) {}
  std::vector<std::string> paths() const override;
  void visit(Visit visit) const override;

 private:
  std::function<std::unique_ptr<SeekableSource>()> open_;
  ArchiveForm form_;
};

/// Samples in path order, classes in name order, whatever the order in the tree. Images of unequal sizes are an error
/// that names two. `where` starts the messages.
Dataset load_images(const ImageTree& tree, const std::string& where, int64_t classes);

}  // namespace halfstep::io

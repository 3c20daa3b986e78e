#include "halfstep/data/datasets/image_tree.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/core/base/system_memory.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"
#include "halfstep/data/datasets/errors.h"
#include "halfstep/data/datasets/image.h"

namespace halfstep::data {
namespace {

bool is_hidden(const std::string& path) {
  return path.starts_with('.') || path.find("/.") != std::string::npos || path.starts_with("__MACOSX/");
}

/// Whether a path is an image, by the rules of both trees.
bool is_wanted(const std::string& path) {
  return (is_image_name(path) || !other_image_kind(path).empty()) && !is_hidden(path);
}

std::string without_dot(const std::string& path) { return path.starts_with("./") ? path.substr(2) : path; }

class FolderWalk {
 public:
  explicit FolderWalk(std::filesystem::path root) : root_(std::move(root)) {}

  void run() {
    std::vector<std::filesystem::path> folders = {root_};
    while (!folders.empty()) {
      const std::filesystem::path folder = std::move(folders.back());
      folders.pop_back();
      std::error_code reason;
      std::filesystem::directory_iterator entry(folder, reason);
      for (; !reason && entry != std::filesystem::directory_iterator(); entry.increment(reason)) visit(*entry, folders);
      if (reason) fail(errors::cannot_be_read(folder.string(), io::system_reason(reason.value())));
    }
    refuse_others();
  }

  const std::vector<std::string>& images() const { return images_; }

 private:
  void visit(const std::filesystem::directory_entry& entry, std::vector<std::filesystem::path>& folders) {
    const std::string path = entry.path().lexically_relative(root_).generic_string();
    if (entry.path().filename().string().starts_with('.')) return;
    std::error_code gone;
    const auto type = entry.symlink_status(gone).type();
    if (type == std::filesystem::file_type::directory) {
      folders.push_back(entry.path());
    } else if (type == std::filesystem::file_type::regular) {
      if (is_wanted(path)) images_.push_back(path);
    } else if (is_wanted(path) || entry.is_directory(gone)) {
      others_.push_back(fmt::format("'{}' ({})", path, io::name_of(type)));
    }
  }

  void refuse_others() {
    constexpr size_t kShown = 8;
    if (others_.empty()) return;
    std::sort(others_.begin(), others_.end());
    const size_t more = others_.size() - std::min(kShown, others_.size());
    others_.resize(others_.size() - more);
    fail(errors::folder_with_others(root_.string(), fmt::format("{}{}", fmt::join(others_, ", "),
                                                                more == 0 ? "" : fmt::format(" and {} more", more))));
  }

  std::filesystem::path root_;
  std::vector<std::string> images_, others_;
};

}  // namespace

std::vector<std::string> FolderTree::paths() const {
  FolderWalk walk(root_);
  walk.run();
  std::vector<std::string> images = walk.images();
  std::sort(images.begin(), images.end());
  return images;
}

std::vector<std::byte> FolderTree::contents(const std::string& path, size_t most) const {
  const auto source = io::file_source(root_ / path);
  std::vector<std::byte> bytes(static_cast<size_t>(std::min<uint64_t>(most, source->size())));
  bytes.resize(source->read(bytes));
  return bytes;
}

ArchiveTree::ArchiveTree(std::unique_ptr<io::SeekableSource> source, io::ArchiveForm form) {
  const std::string where = source->name();
  const size_t most = machine_memory() / 2;
  size_t taken = 0;
  io::ArchiveReader reader(std::move(source), form);
  while (const auto stored = reader.next()) {
    const std::string path = without_dot(*stored);
    if (!is_wanted(path)) {
      if (!is_hidden(path)) others_.push_back(path);
      continue;
    }
    const auto [at, is_new] = images_.emplace(path, reader.contents());
    if (!is_new) fail(errors::given_twice(fmt::format("{}: image '{}'", where, path)));
    taken += at->second.size();
    if (taken > most)
      fail(errors::archive_too_large(where, "images of more",
                                     fmt::format("at most {} MiB, half of the memory", most >> 20)));
  }
}

std::vector<std::string> ArchiveTree::paths() const {
  std::vector<std::string> found;
  for (const auto& [path, bytes] : images_) found.push_back(path);
  return found;
}

std::vector<std::byte> ArchiveTree::contents(const std::string& path, size_t most) const {
  const auto& bytes = images_.at(path);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(most, bytes.size()))};
}

}  // namespace halfstep::data

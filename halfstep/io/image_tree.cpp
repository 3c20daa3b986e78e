#include "halfstep/io/image_tree.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "halfstep/io/file.h"
#include "halfstep/io/image.h"

namespace halfstep::io {
namespace {

/// Images by the rules of both trees: hidden files and folders do not count.
bool is_wanted(const std::string& path) {
  return is_image_name(path) && !path.starts_with('.') && path.find("/.") == std::string::npos;
}

std::string without_dot(const std::string& path) { return path.starts_with("./") ? path.substr(2) : path; }

/// What the path of an image says.
struct Sample {
  std::string part;  ///< "train", "test" or nothing
  std::string label;
};

Sample parse_path(const std::string& path, const std::string& where) {
  std::vector<std::string> parts;
  for (const auto& part : std::filesystem::path(path)) parts.push_back(part.string());
  if (parts.size() < 2) fail("{}: image '{}' lies in no folder named by its class", where, path);
  Sample sample{{}, parts[parts.size() - 2]};
  if (parts.size() > 2 && (parts[parts.size() - 3] == "train" || parts[parts.size() - 3] == "test"))
    sample.part = parts[parts.size() - 3];
  return sample;
}

/// Images below a folder. A link could lead out of it, in a circle, or to the same image twice; so links are not
/// followed, and what would be an image or a class but for being one, or a pipe, is an error.
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
      if (reason) fail("{}: {}", folder.string(), system_reason(reason.value()));
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
      others_.push_back(fmt::format("'{}' is {}", path, name_of(type)));
    }
  }

  void refuse_others() {
    constexpr size_t kShown = 8;
    if (others_.empty()) return;
    std::sort(others_.begin(), others_.end());
    const size_t more = others_.size() - std::min(kShown, others_.size());
    others_.resize(others_.size() - more);
    fail("{}: {}{}; expected images and folders themselves", root_.string(), fmt::join(others_, ", "),
         more == 0 ? "" : fmt::format(" and {} more", more));
  }

  std::filesystem::path root_;
  std::vector<std::string> images_, others_;
};

/// Everything but the pixels, from the paths alone.
class Layout {
 public:
  Layout(std::vector<std::string> paths, const std::string& where, int64_t max_classes) : paths_(std::move(paths)) {
    if (paths_.empty()) fail("{}: found no image, expected CLASS/NAME.png or CLASS/NAME.jpg", where);
    std::sort(paths_.begin(), paths_.end());
    const auto twice = std::adjacent_find(paths_.begin(), paths_.end());
    if (twice != paths_.end()) fail("{}: image '{}' is given twice", where, *twice);
    for (const std::string& path : paths_) {
      samples_.push_back(parse_path(path, where));
      classes_.emplace(samples_.back().label, 0);
      if (samples_.back().part.empty() != samples_[0].part.empty())
        fail("{}: '{}' and '{}' are not laid out alike: one lies below train/ or test/", where, paths_[0], path);
    }
    if (std::cmp_greater(classes_.size(), max_classes))
      fail("{}: found {} classes, expected at most {}", where, classes_.size(), max_classes);
    int32_t number = 0;
    for (auto& [name, label] : classes_) label = number++;
  }

  const std::vector<std::string>& paths() const { return paths_; }

  void describe(Dataset& dataset) const {
    dataset.labels = Tensor(DType::i32, {static_cast<int64_t>(paths_.size())});
    for (const auto& [name, label] : classes_) dataset.classes.push_back(name);
    Split split;
    for (size_t i = 0; i < paths_.size(); ++i) {
      dataset.labels.data<int32_t>()[i] = classes_.at(samples_[i].label);
      (samples_[i].part == "train" ? split.train : split.test).push_back(static_cast<int64_t>(i));
    }
    if (!samples_[0].part.empty() && !split.train.empty() && !split.test.empty()) dataset.split = std::move(split);
  }

 private:
  std::vector<std::string> paths_;
  std::vector<Sample> samples_;
  std::map<std::string, int32_t> classes_;
};

std::string size_text(const Dims& dims) {
  return fmt::format("{} x {} {}", dims[1], dims[0], dims[2] == 1 ? "grey" : "RGB");
}

/// Puts images, each where its path stands in the order, into one tensor.
class Collector {
 public:
  Collector(const std::vector<std::string>& paths, const std::string& where) : paths_(paths), where_(where) {}

  void add(const std::string& path, std::span<const std::byte> bytes) {
    const auto found = std::lower_bound(paths_.begin(), paths_.end(), path);
    if (found == paths_.end() || *found != path) fail("{}: '{}' came up while reading", where_, path);
    const Tensor image = decode_image(bytes, where_ + ": " + path);
    if (!x_.defined()) start(path, image.dims());
    if (image.dims() != dims_)
      fail("{}: '{}' has {} pixels and '{}' has {}, expected one size", where_, first_, size_text(dims_), path,
           size_text(image.dims()));
    const int64_t pixels = dims_[0] * dims_[1], channels = dims_[2];
    const auto from = image.data<uint8_t>();
    uint8_t* to = x_.data<uint8_t>().data() + (found - paths_.begin()) * pixels * channels;
    for (int64_t i = 0; i < pixels * channels; ++i)
      to[i % channels * pixels + i / channels] = from[static_cast<size_t>(i)];
    ++count_;
  }

  Tensor finish() {
    if (count_ != paths_.size()) fail("{}: found {} images, expected {} as before", where_, count_, paths_.size());
    return x_;
  }

 private:
  void start(const std::string& path, const Dims& dims) {
    constexpr int64_t kMaxBytes = int64_t{1} << 34;
    first_ = path;
    dims_ = dims;
    const auto images = static_cast<int64_t>(paths_.size());
    const int64_t image = dims[0] * dims[1] * dims[2];
    if (image == 0 || images > kMaxBytes / image)
      fail("{}: {} images of {} pixels take more than 16 GiB", where_, images, size_text(dims));
    x_ = Tensor(DType::u8, {images, dims[2], dims[0], dims[1]});
  }

  const std::vector<std::string>& paths_;
  const std::string& where_;
  std::string first_;
  Dims dims_;
  Tensor x_;
  size_t count_ = 0;
};

}  // namespace

std::vector<std::string> FolderTree::paths() const {
  FolderWalk walk(root_);
  walk.run();
  return walk.images();
}

void FolderTree::visit(Visit visit) const {
  for (const std::string& path : paths()) visit(path, read_file(root_ / path));
}

std::vector<std::string> ArchiveTree::paths() const {
  std::vector<std::string> found;
  ArchiveReader reader(open_(), form_);
  while (const auto path = reader.next()) {
    if (is_wanted(without_dot(*path))) found.push_back(without_dot(*path));
  }
  return found;
}

void ArchiveTree::visit(Visit visit) const {
  ArchiveReader reader(open_(), form_);
  while (const auto path = reader.next()) {
    if (is_wanted(without_dot(*path))) visit(without_dot(*path), reader.contents());
  }
}

Dataset load_images(const ImageTree& tree, const std::string& where, int64_t classes) {
  Dataset dataset;
  const Layout layout(tree.paths(), where, classes);
  layout.describe(dataset);
  Collector collector(layout.paths(), where);
  tree.visit([&](const std::string& path, std::span<const std::byte> bytes) { collector.add(path, bytes); });
  dataset.x = collector.finish();
  return dataset;
}

}  // namespace halfstep::io

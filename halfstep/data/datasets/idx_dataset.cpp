#include "halfstep/data/datasets/idx_dataset.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/data/datasets/errors.h"
#include "halfstep/data/datasets/idx.h"

namespace halfstep::data {
namespace {

/// Grey images: [n, h, w] to [n, 1, h, w].
Tensor with_channel(const Tensor& images) {
  return images.reshaped({images.dims()[0], 1, images.dims()[1], images.dims()[2]});
}

/// The label file that belongs to an image file, by MNIST's names.
std::filesystem::path labels_path(const std::filesystem::path& images) {
  std::string name = images.filename().string();
  const std::pair<std::string_view, std::string_view> renames[] = {{"images", "labels"}, {"idx3", "idx1"}};
  for (const auto& [from, to] : renames) {
    const size_t at = name.find(from);
    if (at == std::string::npos) fail(errors::idx_name(images.string()));
    name.replace(at, from.size(), to);
  }
  return images.parent_path() / name;
}

LabelledData read_pair(const std::filesystem::path& images, int64_t classes) {
  const auto pixels = io::decompressed(io::file_source(images));
  const auto labels = io::decompressed(io::file_source(labels_path(images)));
  return read_idx_pair(*pixels, *labels, classes);
}

std::vector<int64_t> range(int64_t begin, int64_t end) {
  std::vector<int64_t> numbers;
  for (int64_t i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

}  // namespace

std::optional<std::filesystem::path> find_idx_images(const std::filesystem::path& folder, const std::string& prefix) {
  for (const char* ending : {"", ".gz"}) {
    const std::filesystem::path path = folder / (prefix + "-images-idx3-ubyte" + ending);
    std::error_code failed;
    if (std::filesystem::exists(path, failed)) return path;
  }
  return std::nullopt;
}

Dataset load_idx_file(const std::filesystem::path& images, int64_t classes) {
  const LabelledData data = read_pair(images, classes);
  if (data.labels.size() == 0) fail(errors::no_samples(images.string(), "at least one"));
  return {
      .form = "IDX", .x = with_channel(data.x), .labels = data.labels, .classes = number_names(data.labels, classes)};
}

Dataset load_idx_folder(const std::filesystem::path& train_images, int64_t classes) {
  Dataset dataset = load_idx_file(train_images, classes);
  const auto test_images = find_idx_images(train_images.parent_path(), "t10k");
  if (!test_images) return dataset;
  const Dataset test = load_idx_file(*test_images, classes);
  if (test.sample_dims() != dataset.sample_dims())
    fail(errors::idx_type(test_images->string(), "images " + to_string(test.sample_dims()),
                          fmt::format("{} as in {}", to_string(dataset.sample_dims()), train_images.string())));
  dataset.split =
      Split{range(0, dataset.size()), {}, range(dataset.size(), dataset.size() + test.size()), "the t10k files"};
  dataset.x = joined(dataset.x, test.x);
  dataset.labels = joined(dataset.labels, test.labels);
  dataset.classes = std::max(dataset.classes, test.classes, [](auto& a, auto& b) { return a.size() < b.size(); });
  return dataset;
}

}  // namespace halfstep::data

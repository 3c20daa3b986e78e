// Labelled samples from any source that training takes.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/data/datasets/csv.h"
#include "halfstep/data/datasets/frame.h"
#include "halfstep/data/datasets/options.h"

namespace halfstep::data {

class ImageSet;

/// Indices of samples. `val` is empty where nothing but training and testing is told apart.
struct Split {
  std::vector<int64_t> train, val, test;
  std::string tested = {};  ///< what `test` is: "test/", "val/", "a fifth of each class"
};

/// As the source has them: no scale or mean is applied. Images stay u8, a quarter of the memory of f32.
struct Dataset {
  std::string name = {};  ///< of the file or folder: "optdigits.csv.gz"
  std::string form = {};  ///< "image folder", "csv"
  Tensor x = {};          ///< u8 or f32, [n, c, h, w] or [n, columns]; undefined where there are `inputs` or `images`
  std::shared_ptr<const ImageSet> images = {};  ///< in place of x, decoded when they are asked for
  std::map<std::string, Tensor> inputs = {};    ///< of a network, by name, [n, ...]; empty where there is `x`
  /// i32 [n], or [n, ...] where samples have several, each in [0, classes.size()); undefined where there are none.
  Tensor labels = {};
  std::vector<std::string> classes = {};  ///< names; "0", "1", ... where the source has numbers
  std::optional<Split> split = {};
  bool raw = true;  ///< what a network's preprocessing is for: not tensors of floats, which a network takes as they are

  bool has_labels() const { return labels.defined(); }
  int64_t labels_each() const;  ///< of a sample; 0 without labels
  /// Whether samples are one tensor, and not named `inputs`.
  bool has_x() const { return x.defined() || images != nullptr; }
  int64_t size() const;
  /// Extents of one sample of x or images under `frame`, without the leading n; kUnknown where they differ.
  Dims sample_dims(const Frame& frame = {}) const;
  /// Those samples of x or images: f32 [indices.size(), sample_dims...]. A frame is for [c, h, w].
  Tensor batch(std::span<const int64_t> indices, const Frame& frame = {}) const;
  /// Their labels behind each other: i32 [indices.size() * labels_each()].
  Tensor batch_labels(std::span<const int64_t> indices) const;
  /// Images that were left out, each with the reason.
  const std::vector<std::string>& skipped() const;
};

/// Those rows of a tensor, of its type.
Tensor rows_of(const Tensor& tensor, std::span<const int64_t> indices);
/// The rows of both, whose types differ in their first extent alone.
Tensor joined(const Tensor& a, const Tensor& b);

/// Every layout that docs/data.md lists, told apart by the name of `path` and by what it holds: images in folders or in
/// an archive, a list of images, csv, IDX, npz and safetensors. Labels lie in [0, classes); kMaxClasses: as many as the
/// data has.
Dataset load_dataset(const std::filesystem::path& path, int64_t classes = kMaxClasses, const DataOptions& options = {});

/// Tensors as an npz has them. `where` starts the messages.
Dataset dataset_of(const std::map<std::string, Tensor>& tensors, const std::string& where,
                   int64_t classes = kMaxClasses);

/// The same from memory, for every form that is one file; `name` decides as a path would.
Dataset load_dataset(std::span<const std::byte> bytes, const std::string& name, int64_t classes = kMaxClasses,
                     const DataOptions& options = {});

/// The built-in data set: 1,797 images of handwritten digits, 8 x 8, with 10 classes (docs/data.md names its source).
Dataset digits(int64_t classes = kMaxClasses, const DataOptions& options = {});

}  // namespace halfstep::data

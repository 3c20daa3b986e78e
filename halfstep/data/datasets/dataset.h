// Labelled samples from any supported source.
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

/// Indices of samples. `val` is empty if the source has only training and test samples.
struct Split {
  std::vector<int64_t> train, val, test;
  std::string tested = {};  ///< description of `test`: "test/", "val/", "a fifth of each class"
};

/// Samples with the values of the source: no scale or mean is applied. Images stay u8, which needs a quarter of the
/// memory of f32.
struct Dataset {
  std::string name = {};  ///< name of the file or folder, for example "optdigits.csv.gz"
  std::string form = {};  ///< format, for example "image folder" or "csv"
  Tensor x = {};          ///< u8 or f32 [n, c, h, w] or [n, columns], undefined if `inputs` or `images` is used
  std::shared_ptr<const ImageSet> images = {};  ///< used instead of x, decoded on request
  std::map<std::string, Tensor> inputs = {};    ///< named network inputs, [n, ...], empty if x is used
  /// i32 [n], or [n, ...] if samples have several labels. Each is in [0, classes.size()). Undefined without labels.
  Tensor labels = {};
  /// Values that a loss compares outputs with, f32 or i32 [n, ...]: `target`, NAME for a tensor target.NAME, and
  /// lengths.
  std::map<std::string, Tensor> targets = {};
  std::shared_ptr<const ImageSet> masks = {};  ///< the target `target` of `images`, i32 [n, h, w]: class numbers
  std::vector<std::string> classes = {};       ///< names of the classes ("0", "1", ... for number labels)
  std::optional<Split> split = {};             ///< the source's own parts or chosen samples, else see split.h
  bool raw = true;  ///< values that need preprocessing. false for float tensors, which a network takes unchanged

  bool has_labels() const { return labels.defined(); }
  bool has_answers() const { return has_labels() || !targets.empty() || masks != nullptr; }
  int64_t labels_each() const;  ///< number of labels of one sample, 0 without labels
  /// True if samples are a single tensor, not named `inputs`.
  bool has_x() const { return x.defined() || images != nullptr; }
  int64_t size() const;  ///< number of samples
  /// Shape of one sample of x or images under `frame`, without the leading n. Extents that differ are kUnknown.
  Dims sample_dims(const Frame& frame = {}) const;
  /// The samples of x or images at `indices`: f32 [indices.size(), sample_dims...]. A frame requires [c, h, w].
  Tensor batch(std::span<const int64_t> indices, const Frame& frame = {}) const;
  /// Their labels, concatenated: i32 [indices.size() * labels_each()].
  Tensor batch_labels(std::span<const int64_t> indices) const;
  /// Images that were left out, each with the reason.
  const std::vector<std::string>& skipped() const;
};

/// The rows of a tensor at `indices`, in its element type.
Tensor rows_of(const Tensor& tensor, std::span<const int64_t> indices);
/// Concatenates two tensors along the first axis. Their types may differ only in this extent.
Tensor joined(const Tensor& a, const Tensor& b);

/// Loads any layout listed in docs/guides/use_data.md: images in folders or in an archive, a list of images, csv, IDX,
/// npz or safetensors. The name of `path` and its contents determine the layout. Labels are in [0, classes). With
/// kMaxClasses, the number of classes follows from the data.
Dataset load_dataset(const std::filesystem::path& path, int64_t classes = kMaxClasses, const DataOptions& options = {});

/// A data set from tensors named as in an npz file. `where` starts the messages.
Dataset dataset_of(const std::map<std::string, Tensor>& tensors, const std::string& where,
                   int64_t classes = kMaxClasses);

/// Loads a single-file data set from memory. `name` selects the format, like a path.
Dataset load_dataset(std::span<const std::byte> bytes, const std::string& name, int64_t classes = kMaxClasses,
                     const DataOptions& options = {});

/// The built-in data set: 1,797 images of handwritten digits, 8 x 8, with 10 classes (docs/guides/use_data.md names its
/// source).
Dataset digits(int64_t classes = kMaxClasses, const DataOptions& options = {});

}  // namespace halfstep::data

// Labelled samples from any source that training takes.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/io/csv.h"

namespace halfstep::io {

/// Indices of samples, where the source itself is split.
struct Split {
  std::vector<int64_t> train, test;
};

/// As the source has them: no scale or mean is applied. Images stay u8, a quarter of the memory of f32.
struct Dataset {
  std::string name = {};  ///< file or folder name without endings: "optdigits"
  Tensor x = {};          ///< u8 or f32, [n, c, h, w] or [n, columns]; undefined where there are `inputs`
  std::map<std::string, Tensor> inputs = {};  ///< of a network, by name, [n, ...]; empty where there is `x`
  Tensor labels = {};                         ///< i32 [n], each in [0, classes.size()); undefined where there are none
  std::vector<std::string> classes = {};      ///< names; "0", "1", ... where the source has numbers
  std::optional<Split> split = {};
  bool raw = true;  ///< what a network's preprocessing is for: not tensors of floats, which a network takes as they are

  bool has_labels() const { return labels.defined(); }
  int64_t size() const { return (x.defined() ? x : inputs.begin()->second).dims()[0]; }
  /// Extents of one sample of x, without the leading n.
  Dims sample_dims() const { return {x.dims().begin() + 1, x.dims().end()}; }
  /// Those samples of x: f32 [indices.size(), sample_dims...].
  Tensor batch(std::span<const int64_t> indices) const;
  /// Their labels: i32 [indices.size()].
  Tensor batch_labels(std::span<const int64_t> indices) const;
};

/// Those rows of a tensor, of its type.
Tensor rows_of(const Tensor& tensor, std::span<const int64_t> indices);

/// By the name of `path`: .csv (a square count of columns becomes [n, 1, side, side]); IDX, as a folder with MNIST's
/// file names or as the images file; an image folder CLASS/NAME.png, with train/ and test/ above the classes or not, or
/// a .tar or .zip of one; .safetensors or .npz with tensors `x` and `labels`, or with the inputs of a network by name
/// and perhaps `labels`. A .csv or .tar may have .gz, .zst, .xz or .bz2 behind it. Labels lie in [0, classes);
/// kMaxClasses: as many as the data has.
Dataset load_dataset(const std::filesystem::path& path, int64_t classes = kMaxClasses);

/// Tensors as an npz has them. `where` starts the messages.
Dataset dataset_of(const std::map<std::string, Tensor>& tensors, const std::string& where,
                   int64_t classes = kMaxClasses);

/// The same from memory, for every form that is one file; `name` decides as a path would.
Dataset load_dataset(std::span<const std::byte> bytes, const std::string& name, int64_t classes = kMaxClasses);

}  // namespace halfstep::io

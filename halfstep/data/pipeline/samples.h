// A part of a data set, in the form that the training loop reads.
#pragma once

#include <set>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/data/datasets/dataset.h"
#include "halfstep/data/pipeline/augment.h"
#include "halfstep/data/pipeline/preprocess.h"

namespace halfstep::data {

/// Changes of the images in a training step.
struct Augmentation {
  Augment how;
  uint64_t seed = 0, step = 0;
};

/// Selected samples of a data set, with their conversion to network inputs.
struct Samples {
  const data::Dataset* data = nullptr;   ///< must outlive this
  std::vector<int64_t> indices;          ///< samples of `data`, in order
  std::string argument;                  ///< network argument that receives x of the data set
  Preprocess preprocess;                 ///< applied to raw values
  Dims shape = {};                       ///< [c, h, w] of the network, for raw rows [columns] (empty: no change)
  std::vector<int64_t> validation = {};  ///< for a training part: the data set's own validation samples
  std::set<std::string> scalars = {};    ///< arguments without axes: a sample has one number from a tensor [n]

  int64_t size() const { return static_cast<int64_t>(indices.size()); }
  /// Network inputs by argument name: the samples at positions [begin, begin + count) of `order`, or of `indices` if it
  /// is null. Images are changed before preprocessing.
  Tensors inputs(int64_t begin, int64_t count, const std::vector<int64_t>* order = nullptr,
                 const Augmentation& augmentation = {}) const;
  /// Like `inputs`, but every tensor has `count` rows, those of `scalars` too.
  Tensors rows(int64_t begin, int64_t count, const std::vector<int64_t>* order = nullptr,
               const Augmentation& augmentation = {}) const;
  /// [c, h, w] or [columns] of a sample, framed but not preprocessed.
  Dims sample_dims() const;
  /// Concatenated labels of the same samples: i32 [count * data->labels_each()].
  Tensor labels(int64_t begin, int64_t count, const std::vector<int64_t>* order = nullptr) const;
  /// Targets of the same samples by name, for a loss. Labels are the target `labels`.
  /// Masks move with their images, and pixels that move in from outside are kOutside.
  Tensors targets(int64_t begin, int64_t count, const std::vector<int64_t>* order = nullptr,
                  const Augmentation& augmentation = {}) const;
  static constexpr float kOutside = 255;
  /// Their types for `count` samples.
  std::map<std::string, Type> target_types(int64_t count) const;
  /// Extents of the network's arguments for `count` samples. Picture sizes that differ are kUnknown.
  std::map<std::string, Dims> extents(int64_t count) const;

 private:
  Frame mask_frame() const;
};

/// The parts of a data set, see data/datasets/split.h.
struct TrainTest {
  Samples train, test;
  std::string tested = {};  ///< description of the test part: "a fifth of each class"

  /// Sets the argument, the preprocessing, and the form of pictures and rows for this network.
  void feed(const Model& model);
};
TrainTest split(const data::Dataset& data);

/// Training samples and held-out samples of a run.
struct ValidationSplit {
  Samples train, validation_split;
};

/// Returns the validation part if there is one. Else holds out a tenth of `samples`: at least 100 (but at most a
/// quarter of all) and at most 5,000, a multiple of `at_once`. The seed selects them. Throws if too few samples are
/// left for training.
ValidationSplit split_validation(const Samples& samples, int64_t at_once, uint64_t seed);

/// Hash that identifies a data set by content: the samples in this order, their labels and the names of inputs. Files
/// and their names do not count.
std::string content_digest(const Samples& samples);

/// Scales raw values to -1..1: 1/255 for images, else 1 / (largest magnitude in the training part). Float tensors that
/// are not raw stay unchanged.
Preprocess natural_scale(const Samples& train);

/// Whether samples have labels that fit the first output: f32 [n, classes] or [n, ..., classes], with a row for each
/// label.
bool have_answers(const Samples& samples, const Model& model);

/// Number of samples that a network takes at once: `wanted`, or the fixed extent of its first argument, or 1 if an
/// argument has no axes.
int64_t batch_of(const Model& model, int64_t wanted);

/// Like batch_of, but as small as possible if the network has branches or conditional loops. Their decisions would
/// depend on the other samples of the batch, and devices take one sample at a time.
int64_t judged_batch(const Model& model, int64_t wanted);

/// Batch size for evaluation: up to 128 samples of together at most 16 MiB in the form that the network takes.
int64_t evaluation_batch(const Model& model, const Samples& samples);

/// Number of these samples that the network can take: all, or whole batches if its batch is fixed.
int64_t usable(const Model& model, int64_t samples);

/// The extents of an output as [n, classes] or [n, ..., classes]. Trailing extents of 1 are dropped, for example those
/// of an image of one pixel.
Dims class_dims(Dims output);

}  // namespace halfstep::data

// A part of a data set, as the training loop reads it.
#pragma once

#include <set>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/data/datasets/dataset.h"
#include "halfstep/data/pipeline/augment.h"
#include "halfstep/data/pipeline/preprocess.h"

namespace halfstep::data {

/// How the images of a training step are changed.
struct Augmentation {
  Augment how;
  uint64_t seed = 0, step = 0;
};

/// Chosen samples of a data set, on the way to a network.
struct Samples {
  const data::Dataset* data = nullptr;
  std::vector<int64_t> indices;
  std::string argument;                  ///< of the network: what a data set's x becomes
  Preprocess preprocess;                 ///< of raw values
  Dims shape = {};                       ///< [c, h, w] that the network has for raw rows [columns]; empty: as they are
  std::vector<int64_t> validation = {};  ///< of a training part: the data set's own samples to hold back
  std::set<std::string> scalars = {};    ///< arguments without axes: of [n] in the data set each sample has one number

  int64_t size() const { return static_cast<int64_t>(indices.size()); }
  /// For the network's arguments, by name: the samples at positions [begin, begin + count) of `order`, or of `indices`
  /// itself. Images are changed before they are preprocessed.
  Tensors inputs(int64_t begin, int64_t count, const std::vector<int64_t>* order = nullptr,
                 const Augmentation& augmentation = {}) const;
  /// The same before the network takes them: every tensor has `count` rows, those of `scalars` too.
  Tensors rows(int64_t begin, int64_t count, const std::vector<int64_t>* order = nullptr,
               const Augmentation& augmentation = {}) const;
  /// [c, h, w] or [columns] of a sample of the data set on its way: framed, and not yet preprocessed.
  Dims sample_dims() const;
  /// Labels of the same samples behind each other: i32 [count * data->labels_each()].
  Tensor labels(int64_t begin, int64_t count, const std::vector<int64_t>* order = nullptr) const;
  /// Extents of the network's arguments for so many samples; kUnknown where pictures differ in size.
  std::map<std::string, Dims> extents(int64_t count) const;
};

/// The parts of a data set, see data/datasets/split.h.
struct TrainTest {
  Samples train, test;
  std::string tested = {};  ///< what the test part is: "a fifth of each class"

  /// Names the argument and the preprocessing of this network, and what it wants of pictures and rows.
  void feed(const Model& model);
};
TrainTest split(const data::Dataset& data);

/// What a run learns from, and what it keeps for finding out how it does.
struct HeldBack {
  Samples train, held_back;
};

/// Holds back the validation part where there is one, else a tenth of `samples`, at least 100 (but no more than a
/// quarter of all) and at most 5,000, chosen by the seed, in whole numbers of `at_once`. Throws where nothing would be
/// left to learn from.
HeldBack hold_back(const Samples& samples, int64_t at_once, uint64_t seed);

/// Tells data sets apart by content: a hash of the samples in this order, their labels and their names in a network,
/// not of files and their names.
std::string content_digest(const Samples& samples);

/// What brings raw values to -1..1: 1 / (largest magnitude in the training part).
Preprocess natural_scale(const Samples& train);

/// Whether samples have labels that the first output answers: f32 with a row of classes for each of them, [n, classes]
/// or [n, ..., classes].
bool have_answers(const Samples& samples, const Model& model);

/// How many samples a network takes at once: `wanted`, or the extent that its first argument is fixed to, or one where
/// an argument has no axes.
int64_t batch_of(const Model& model, int64_t wanted);

/// The same, but as few as possible where the network has branches or loops that end by a condition: what decides there
/// would depend on which samples are together, and devices take one at a time.
int64_t judged_batch(const Model& model, int64_t wanted);

/// How many samples are evaluated at once: up to 128, as long as they take no more than 16 MiB as the network sees
/// them.
int64_t evaluation_batch(const Model& model, const Samples& samples);

/// How many of so many samples it can take: all, or whole batches where its batch is fixed.
int64_t usable(const Model& model, int64_t samples);

/// The extents of an output as [n, classes] or [n, ..., classes]: those of 1 at its end are left out, as an image of
/// one pixel has them.
Dims class_dims(Dims output);

}  // namespace halfstep::data

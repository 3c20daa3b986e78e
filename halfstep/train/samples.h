// A part of a data set, as the training loop reads it.
#pragma once

#include <vector>

#include "halfstep/io/dataset.h"
#include "halfstep/ir/model.h"

namespace halfstep::train {

/// Chosen samples of a data set; values are multiplied by `scale` on the way to the network.
struct Samples {
  const io::Dataset* data = nullptr;
  std::vector<int64_t> indices;
  float scale = 1.0F;

  int64_t size() const { return static_cast<int64_t>(indices.size()); }
  /// f32 [count, ...] of the samples at positions [begin, begin + count) of `order`, or of `indices` itself.
  Tensor x(int64_t begin, int64_t count, const std::vector<int64_t>* order = nullptr) const;
  Tensor labels(int64_t begin, int64_t count, const std::vector<int64_t>* order = nullptr) const;
};

/// The data set's own split, or a fixed stratified one: in each class the first 80 % of an order that depends on the
/// class alone train.
struct TrainTest {
  Samples train, test;
};
TrainTest split(const io::Dataset& data);

/// 1 / (largest magnitude in the training part): what brings raw values to -1..1.
float natural_scale(const Samples& train);

/// The scale travels with a Model as a note.
void set_input_scale(Model& model, float scale);
/// 1 when the Model has no note.
float input_scale(const Model& model);

}  // namespace halfstep::train

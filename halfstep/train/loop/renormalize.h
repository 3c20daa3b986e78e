// Running statistics of batch norms, taken anew.
#pragma once

#include <cstdint>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/augment.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::train {

/// The batches that norms are to see.
struct SeenBatches {
  int64_t size = 1;            ///< samples of a batch
  int64_t count = 1;           ///< at most; fewer where the samples run out
  std::vector<int64_t> order;  ///< of all samples: statistics of batches that are one class each are not theirs
  data::Augmentation augmentation = {};  ///< of the first batch, each further one is a step on
};

/// Gives every batch norm that follows its batch in training the mean of the statistics of `batches` with the weights
/// as they are: an average of weights has none of its own. Returns how many there are; where there are none, frozen or
/// folded ones for instance, nothing is run. The mean is taken in float64 and in order.
int64_t renormalize(Model& model, const data::Samples& samples, const SeenBatches& batches, ThreadPool& pool);

}  // namespace halfstep::train

// Recomputes the running statistics of batch norms.
#pragma once

#include <cstdint>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/augment.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::train {

/// The batches from which statistics are computed.
struct SeenBatches {
  int64_t size = 1;            ///< samples per batch
  int64_t count = 1;           ///< maximum number of batches, fewer if the samples run out
  std::vector<int64_t> order;  ///< permutation of all samples. Batches of a single class would have other statistics
  data::Augmentation augmentation = {};  ///< changes of the first batch, each further batch is one step later
};

/// Sets every batch norm that uses its batch in training to the mean statistics of `batches` under the current weights.
/// Averaged weights need this, because they have no statistics of their own. Returns the number of such norms. Runs
/// nothing if there are none, for example if all are frozen or folded. The mean is computed in float64 in order.
int64_t renormalize(Model& model, const data::Samples& samples, const SeenBatches& batches, ThreadPool& pool);

}  // namespace halfstep::train

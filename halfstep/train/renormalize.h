// Running statistics of batch norms, taken anew.
#pragma once

#include "halfstep/base/parallel.h"
#include "halfstep/ir/model.h"
#include "halfstep/train/samples.h"

namespace halfstep::train {

/// Gives every batch norm that follows its batch in training the mean of the statistics of `batches` batches (at most;
/// fewer where the samples run out) with the weights as they are: an average of weights has none of its own. Returns
/// how many there are; where there are none, frozen or folded ones for instance, nothing is run. The mean is taken in
/// float64 and in order.
int64_t renormalize(Model& model, const Samples& samples, int64_t batch, int64_t batches, ThreadPool& pool);

}  // namespace halfstep::train

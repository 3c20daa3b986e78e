// How many samples run at once within a bound of memory.
#pragma once

#include "halfstep/ir/model.h"
#include "halfstep/train/samples.h"

namespace halfstep::train {

/// judged_batch(model, most), or as few samples as keep all values that the network computes within 512 MiB: for runs
/// that fetch every value.
int64_t fetching_batch(const Model& model, const Samples& samples, int64_t most);

}  // namespace halfstep::train

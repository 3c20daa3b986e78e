// How many samples run at once within a bound of memory.
#pragma once

#include "halfstep/core/ir/model.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::train {

/// How many samples keep all values that the network computes within 512 MiB: from 1 to `most`.
int64_t samples_in_memory(const Model& model, const data::Samples& samples, int64_t most);

/// judged_batch(model, most), or as few samples as keep all values that the network computes within 512 MiB: for runs
/// that fetch every value.
int64_t fetching_batch(const Model& model, const data::Samples& samples, int64_t most);

}  // namespace halfstep::train

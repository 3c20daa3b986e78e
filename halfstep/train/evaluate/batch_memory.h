// Number of samples that run at once within a memory limit.
#pragma once

#include "halfstep/core/ir/model.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::train {

/// Number of samples, from 1 to `most`, for which all values of the network fit into 512 MiB.
int64_t samples_in_memory(const Model& model, const data::Samples& samples, int64_t most);

/// Batch size for runs that fetch every value: judged_batch(model, most), or fewer samples if their values exceed 512
/// MiB.
int64_t fetching_batch(const Model& model, const data::Samples& samples, int64_t most);

}  // namespace halfstep::train

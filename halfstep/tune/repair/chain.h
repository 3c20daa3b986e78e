// Runs a network block by block over all samples. Stores the inputs of blocks, and drops values that no later block
// reads.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/tune/repair/part.h"
#include "halfstep/tune/repair/store.h"

namespace halfstep::repair {

/// Stored values by name.
using Stores = std::map<std::string, std::shared_ptr<Store>>;

/// Stores the values of the network's arguments.
Stores stored_inputs(const data::Samples& samples, int64_t at_once, StoreRoom& room);

/// The outputs of `part` for all samples, computed from `inputs` in batches of `at_once`.
Stores run_part(const Model& part, const Stores& inputs, int64_t at_once, StoreRoom& room, ThreadPool& pool);

}  // namespace halfstep::repair

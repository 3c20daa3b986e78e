// A network over all samples, block after block: what a block reads is stored, and what nothing reads any more is
// dropped.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/tune/repair/part.h"
#include "halfstep/tune/repair/store.h"

namespace halfstep::repair {

/// By the name of the value.
using Stores = std::map<std::string, std::shared_ptr<Store>>;

/// What the arguments of the network take.
Stores stored_inputs(const data::Samples& samples, int64_t at_once, StoreRoom& room);

/// The outputs of `part` for all samples, from `inputs`, `at_once` at a time.
Stores run_part(const Model& part, const Stores& inputs, int64_t at_once, StoreRoom& room, ThreadPool& pool);

}  // namespace halfstep::repair

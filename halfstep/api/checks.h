// Numbers in the options of verbs, held against base/limits.h before any work.
#pragma once

#include "halfstep/api/quantize.h"
#include "halfstep/api/train.h"

namespace halfstep::api {

/// Each throws Error, naming the option, for a number that it does not take.
void check_options(const QuantizeOptions& options);
void check_options(const TrainOptions& options);

}  // namespace halfstep::api

// Training in stages of fewer and fewer bits. Internal to the verbs.
#pragma once

#include "halfstep/api/train.h"

namespace halfstep::api {

/// What `train` does with a schedule. In a folder each stage has a folder of its own.
TrainResult train_in_stages(const Model& network, const Dataset& data, const TrainOptions& options = {},
                            const Settings& settings = {});

}  // namespace halfstep::api

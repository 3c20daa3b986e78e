// Training in stages with decreasing bit widths. Internal to the verbs.
#pragma once

#include "halfstep/api/train.h"

namespace halfstep::api {

/// Implements `train` with a schedule. Each stage has its own folder inside the output folder.
TrainResult train_in_stages(const Model& network, const Dataset& data, const TrainOptions& options = {},
                            const Settings& settings = {});

}  // namespace halfstep::api

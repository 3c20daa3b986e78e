// Calibration: the observers of a prepared network watch its float form run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/train/calibrate/options.h"

namespace halfstep::train {

struct Calibrated {
  int64_t samples = 0;                     ///< that observers saw
  std::vector<std::string> warnings = {};  ///< ranges that may not hold, by name
};

/// Sets the ranges, scales and zero points of every quantizer of `prepared` from the samples. They do not depend on how
/// many samples the network takes at once.
Calibrated calibrate(Model& prepared, const data::Samples& samples, const CalibrateOptions& options, ThreadPool& pool,
                     const ProgressCallback& progress = {});

}  // namespace halfstep::train

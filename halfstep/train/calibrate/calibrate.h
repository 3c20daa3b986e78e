// Calibration: the observers of a prepared network record ranges while its float form runs.
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
  int64_t samples = 0;                     ///< number of samples that observers saw
  std::vector<std::string> warnings = {};  ///< ranges that may be invalid, by name
};

/// Sets the ranges, scales and zero points of every quantizer of `prepared` from the samples. The result does not
/// depend on the batch size of the network.
Calibrated calibrate(Model& prepared, const data::Samples& samples, const CalibrateOptions& options, ThreadPool& pool,
                     const ProgressCallback& progress = {});

}  // namespace halfstep::train

// Calibration: the observers of a prepared network watch its float form run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/log.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::train {

struct CalibrateOptions {
  int64_t batch = 64;   ///< samples of a step, however many of them the network takes at once
  int64_t batches = 8;  ///< steps at most; fewer where the samples run out
  uint64_t seed = 0;    ///< which samples
  /// Ranges that depend on open extents hold up to this one; without it up to the one that they held for before, or to
  /// those of the samples.
  std::optional<int64_t> max_length = {};
};

struct Calibrated {
  int64_t samples = 0;                     ///< that observers saw
  std::vector<std::string> warnings = {};  ///< ranges that may not hold, by name
};

/// Sets the ranges, scales and zero points of every quantizer of `prepared` from the samples. They do not depend on how
/// many samples the network takes at once.
Calibrated calibrate(Model& prepared, const Samples& samples, const CalibrateOptions& options, ThreadPool& pool,
                     const ProgressCallback& progress = {});

}  // namespace halfstep::train

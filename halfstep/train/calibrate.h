// Calibration: the observers of a prepared network watch its float form run.
#pragma once

#include "halfstep/base/log.h"
#include "halfstep/base/parallel.h"
#include "halfstep/ir/model.h"
#include "halfstep/train/samples.h"

namespace halfstep::train {

struct CalibrateOptions {
  int64_t batch = 64;
  int64_t batches = 8;  ///< at most; fewer where the samples run out
  uint64_t seed = 0;    ///< which samples
};

/// Sets the ranges, scales and zero points of every quantizer of `prepared` from the samples.
void calibrate(Model& prepared, const Samples& samples, const CalibrateOptions& options, ThreadPool& pool,
               const ProgressCallback& progress = {});

}  // namespace halfstep::train

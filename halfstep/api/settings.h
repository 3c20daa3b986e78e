// Types and settings shared by the verbs.
#pragma once

#include <cstdint>
#include <string>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/data/datasets/dataset.h"
#include "halfstep/quant/platform/platform.h"
#include "halfstep/quant/prepare/prepare.h"

namespace halfstep::api {

using Dataset = data::Dataset;
using DataOptions = data::DataOptions;
using Platform = quant::Platform;

/// Settings of every verb that computes.
struct Settings {
  int threads = 0;                 ///< number of threads; 0: one per processor
  uint64_t seed = 0;               ///< seed of all random numbers; equal seeds give equal results
  ProgressCallback progress;       ///< called with stage, done, total and note; empty: no progress
  std::string python = "python3";  ///< interpreter for onnxruntime, unless HALFSTEP_PYTHON is set
};

}  // namespace halfstep::api

// What the verbs share.
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

/// What every verb that computes takes.
struct Settings {
  int threads = 0;  ///< 0: one per processor
  uint64_t seed = 0;
  ProgressCallback progress;
  std::string python = "python3";  ///< runs onnxruntime where HALFSTEP_PYTHON names no other
};

}  // namespace halfstep::api

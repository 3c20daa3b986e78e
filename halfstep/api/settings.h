// What the verbs share.
#pragma once

#include <cstdint>

#include "halfstep/base/log.h"
#include "halfstep/io/dataset.h"
#include "halfstep/ir/model.h"
#include "halfstep/quant/platform.h"
#include "halfstep/quant/prepare.h"

namespace halfstep::api {

using Dataset = io::Dataset;
using DataOptions = io::DataOptions;
using Platform = quant::Platform;

/// What every verb that computes takes.
struct Settings {
  int threads = 0;  ///< 0: one per processor
  uint64_t seed = 0;
  ProgressCallback progress;
};

}  // namespace halfstep::api

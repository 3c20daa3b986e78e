// Source of sample batches.
#pragma once

#include <cstdint>
#include <functional>

#include "halfstep/core/base/tensor.h"

namespace halfstep::verify {

/// Returns a part of the samples: tensors [count, ...] for the network's arguments.
using BatchSource = std::function<Tensors(int64_t begin, int64_t count)>;

}  // namespace halfstep::verify

// Stored tensors with their axes in another order.
#pragma once

#include <cstdint>
#include <vector>

#include "halfstep/core/base/tensor.h"

namespace halfstep::passes {

/// Returns the f32 tensor with its axes in the order `perm`. Element [i, j, ...] of the result is element [i, j, ...]
/// of these axes, counted from the end along those that `flipped` names.
Tensor rearranged(const Tensor& tensor, const std::vector<int64_t>& perm, const std::vector<bool>& flipped = {});

}  // namespace halfstep::passes

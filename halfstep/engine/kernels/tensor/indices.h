// Indices along an axis. A negative index counts from the end.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/kernels/errors.h"

namespace halfstep::kernels::tensor {

template <class Index>
Status check_indices(const Index* indices, int64_t count, int64_t extent) {
  for (int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<int64_t>(indices[i]);
    if (index < -extent || index >= extent)
      return Status(errors::operand_index_out_of_range(fmt::format("index {}", i), index,
                                                       fmt::format("{} to {}", -extent, extent - 1)));
  }
  return {};
}

/// Converts a negative index, which counts from the end.
inline int64_t counted(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

}  // namespace halfstep::kernels::tensor

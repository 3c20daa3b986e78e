// Reading a smaller operand at the elements of a larger result.
#pragma once

#include <cstdint>
#include <span>

namespace halfstep::kernels {

/// Position in an operand of the element that belongs to element `index` of the result: axes are matched from the last
/// on, and an axis that the operand lacks or has with extent 1 is repeated.
inline int64_t broadcast_index(std::span<const int64_t> operand, std::span<const int64_t> result, int64_t index) {
  int64_t position = 0;
  int64_t stride = 1;
  for (size_t i = 0; i < operand.size(); ++i) {
    const int64_t extent = operand[operand.size() - 1 - i];
    const int64_t range = result[result.size() - 1 - i];
    if (extent != 1) position += index % range * stride;
    stride *= extent;
    index /= range;
  }
  return position;
}

}  // namespace halfstep::kernels

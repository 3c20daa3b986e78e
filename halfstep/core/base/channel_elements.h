// Visits the elements of a tensor with their channels. Slow: use it only where speed does not matter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halfstep/core/base/shape.h"

namespace halfstep {

/// Calls visit(element, channel) for every element of a tensor with channels along `axis`, in order. With axis -1, the
/// only channel is 0.
template <class Visit>
void for_each_element(const Dims& dims, int64_t axis, Visit&& visit) {
  int64_t run = 1, channels = 1;
  if (axis >= 0) {
    channels = dims[static_cast<size_t>(axis)];
    for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i) run *= dims[i];
  }
  const int64_t size = count_elements(dims);
  for (int64_t i = 0; i < size; ++i) visit(static_cast<size_t>(i), static_cast<size_t>(i / run % channels));
}

}  // namespace halfstep

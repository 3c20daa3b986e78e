// Softmax of a line of doubles, for layers of any element type.
#pragma once

#include <algorithm>
#include <cmath>

#include "halfstep/engine/kernels/common/number_types.h"

namespace halfstep::kernels {

/// Softmax in place, relative to the largest element, so that no exponential overflows. T is the element type of the
/// layer. A sum is rounded once. In bf16 each addition is rounded, as in onnx.reference, which sums in NumPy's type.
template <class T>
void softmax(double* values, int64_t count) {
  const double largest = *std::max_element(values, values + count);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    values[i] = rounded_if_half<T>(std::exp(rounded_if_half<T>(values[i] - largest)));
    sum += values[i];
    if constexpr (std::is_same_v<T, BFloat16>) sum = rounded_if_half<T>(sum);
  }
  sum = rounded_if_half<T>(sum);
  for (int64_t i = 0; i < count; ++i) values[i] = rounded_if_half<T>(values[i] / sum);
}

}  // namespace halfstep::kernels

// Access to tensor elements of any dtype as numbers. Slow: use it only where speed does not matter.
#pragma once

#include "halfstep/core/base/tensor.h"

namespace halfstep {

/// Returns the element at a flat index. Codes of small floats are decoded.
double element(const Tensor& tensor, int64_t index);

/// Whether an integer dtype can hold `value` rounded towards zero. True for every other dtype.
bool can_hold(DType dtype, double value);

/// Stores `value`. An integer dtype must be able to hold it. Floats are rounded to nearest, and small floats saturate.
void set_element(Tensor& tensor, int64_t index, double value);

/// Converts float64, the default of NumPy, to the nearest float32, because networks take float32. Returns other dtypes
/// unchanged.
Tensor narrowed(const Tensor& tensor);

/// Lowest and highest integer that the integer dtype holds and a double represents exactly.
std::pair<double, double> whole_range(DType dtype);

}  // namespace halfstep

// Elements of tensors of any dtype as numbers, for code whose speed does not matter.
#pragma once

#include "halfstep/core/base/tensor.h"

namespace halfstep {

/// Element at a flat index; codes of small floats as what they stand for.
double element(const Tensor& tensor, int64_t index);

/// Whether an element of an integer dtype can be `value`, rounded towards zero; true of any other dtype.
bool can_hold(DType dtype, double value);

/// Stores `value`, which an integer dtype must be able to hold; floats are rounded to nearest, small ones saturate.
void set_element(Tensor& tensor, int64_t index, double value);

/// Numbers of float64, as NumPy has them, as the nearest float32, which networks take; anything else as it is.
Tensor narrowed(const Tensor& tensor);

/// Lowest and highest whole number that an integer dtype holds and a double has exactly.
std::pair<double, double> whole_range(DType dtype);

}  // namespace halfstep

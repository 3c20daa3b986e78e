// Elements of tensors of any dtype as numbers, for code whose speed does not matter.
#pragma once

#include "halfstep/base/tensor.h"

namespace halfstep::verify {

/// Element at a flat index. Of f16 and bf16, in which nothing computes, the stored bits as a whole number.
double element(const Tensor& tensor, int64_t index);

/// Stores `value`, which the dtype must be able to hold; floats are rounded to nearest.
void set_element(Tensor& tensor, int64_t index, double value);

/// Lowest and highest whole number that the dtype holds and a double has exactly; not for f32 and f64.
std::pair<double, double> whole_range(DType dtype);

}  // namespace halfstep::verify

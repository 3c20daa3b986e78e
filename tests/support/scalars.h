// Tensors of one element.
#pragma once

#include "halfstep/core/base/tensor.h"

namespace halfstep::test {

inline Tensor number(int64_t value) { return Tensor::of<int64_t>(DType::i64, {}, {&value, 1}); }
inline Tensor truth(bool value) { return Tensor::of<bool>(DType::boolean, {}, {&value, 1}); }

}  // namespace halfstep::test

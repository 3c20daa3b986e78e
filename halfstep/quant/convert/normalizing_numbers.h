// What the integer program stores of a softmax or a normalization. docs/arithmetic.md, section 5.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/quant/convert/integer_tensors.h"

namespace halfstep::quant {

/// By name as integer_softmax and integer_norm have them.
struct NormalizingNumbers {
  Attributes attributes;
  std::map<std::string, Tensor> tensors;
};

/// Exponentials of the steps of x, and the factor of the result. Error where it has none.
Status softmax_numbers(const arith::RequantizeRule& rule, const CodeFormat& x, const CodeFormat& y,
                       NormalizingNumbers& result);

/// A normalization of rows.
struct NormLayer {
  Tensor scale, bias;  ///< float32; bias may be undefined
  double epsilon = 0;
  CodeFormat x, y;
  DType code_type = DType::u8;  ///< of x
  bool centered = true;
};

/// Epsilon in steps, factors and biases. Error where there is no room for them.
Status norm_numbers(const NormLayer& layer, NormalizingNumbers& result);

}  // namespace halfstep::quant

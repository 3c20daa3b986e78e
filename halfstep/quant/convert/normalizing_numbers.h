// Stored parameters of integer softmax and normalization. See docs/arithmetic.md, section 5.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/quant/convert/integer_tensors.h"

namespace halfstep::quant {

/// Attributes and tensors by their names in integer_softmax and integer_norm.
struct NormalizingNumbers {
  Attributes attributes;
  std::map<std::string, Tensor> tensors;
};

/// The exponentials of all steps of x, and the factor of the result. Returns an error if no factor is in range.
Status softmax_numbers(const arith::RequantizeRule& rule, const CodeFormat& x, const CodeFormat& y,
                       NormalizingNumbers& result);

/// Float parameters of a normalization over rows.
struct NormLayer {
  Tensor scale, bias;    ///< float32, one number or one for each element. bias may be undefined
  int64_t elements = 0;  ///< length of a row. If it is kUnknown, scale and bias have one number
  double epsilon = 0;
  CodeFormat x, y;
  DType code_type = DType::u8;  ///< type of the codes of x
  bool centered = true;
};

/// Epsilon in squared steps, factors and biases. Returns an error if one of them is out of range.
Status norm_numbers(const NormLayer& layer, NormalizingNumbers& result);

}  // namespace halfstep::quant

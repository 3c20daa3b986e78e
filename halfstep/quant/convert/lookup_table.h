// Tables that map each code to a code.
#pragma once

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/graph.h"
#include "halfstep/quant/convert/integer_tensors.h"

namespace halfstep::quant {

/// Sets entry c - x.code_min to the code of f((c - x.zero_point) * x.scale) for each code c of x, computed in double.
/// NaN becomes y.code_min. See docs/arithmetic.md, section 5.
Tensor lookup_table(Op function, const CodeFormat& x, const CodeFormat& y, DType code_type);

/// Sets entry c - x.code_min to the code under y that the requantizer computes from c - x.zero_point.
Tensor rescale_table(const CodeFormat& x, const CodeFormat& y, DType code_type, const arith::Requantizer& requantizer);

}  // namespace halfstep::quant

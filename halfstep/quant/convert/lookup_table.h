// A function of one code as a table of codes.
#pragma once

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/graph.h"
#include "halfstep/quant/convert/integer_tensors.h"

namespace halfstep::quant {

/// Entry c - x.code_min is the code of f((c - x.zero_point) * x.scale) for each code c of x, in double; NaN gives
/// y.code_min.
/// docs/arithmetic.md, section 5.
Tensor lookup_table(Op function, const CodeFormat& x, const CodeFormat& y, DType code_type);

/// Entry c - x.code_min is the code under y that the requantizer makes of c - x.zero_point.
Tensor rescale_table(const CodeFormat& x, const CodeFormat& y, DType code_type, const arith::Requantizer& requantizer);

}  // namespace halfstep::quant

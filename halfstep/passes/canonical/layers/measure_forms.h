// Normalizations by sums of squares, and reductions of functions of elements, in operators that have codes.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Rewrites local_response_norm, lp_normalization, mean_variance_normalization, log_softmax and the reductions of
/// magnitudes, squares, logarithms and exponentials as sums, means, products and functions of one operand. Operators
/// with unknown extents that a reshape needs stay unchanged.
void measure_forms(Model& model);

}  // namespace halfstep::passes

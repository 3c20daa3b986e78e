// The factors of a sum of two values of codes.
#pragma once

#include "halfstep/kernels/quantized/rule.h"

namespace halfstep::kernels {

/// arith::to_sum_factors of the scales. Forms that keep scales have no multipliers: see arith::FloatSum and
/// arith::EngineSum.
Status sum_factors(const RequantizeRule& rule, float a_scale, float b_scale, float y_scale,
                   arith::MultiplierPair& factors);

}  // namespace halfstep::kernels

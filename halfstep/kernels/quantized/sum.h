// The factors of a sum of two values of codes.
#pragma once

#include "halfstep/kernels/quantized/rule.h"

namespace halfstep::kernels {

/// Multipliers of a and b over one shift. In the power_of_two form both factors must be powers of two; the pair then
/// holds them exactly as long as the smaller is not 2^bits times smaller. Forms that keep scales
/// have no multipliers: see arith::FloatSum and arith::EngineSum.
Status sum_factors(const RequantizeRule& rule, float a_scale, float b_scale, float y_scale,
                   arith::MultiplierPair& factors);

}  // namespace halfstep::kernels

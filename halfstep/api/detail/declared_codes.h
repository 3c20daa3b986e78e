// Scales and zero points that own quantizers declare.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::api {

/// Writes the declared scales and zero points of own quantizers into the tensors of their quantizers. Throws for a
/// scale that is not positive, and for a zero point that the platform does not allow.
void settle_own_quantizers(Model& model);

/// A copy in which own quantizers that declare a scale are ordinary quantizers with this scale. Throws if one computes
/// another value than they do: for a weight, of any of its elements; for an activation, of the values around every
/// code.
Model with_declared_codes(const Model& prepared);

}  // namespace halfstep::api

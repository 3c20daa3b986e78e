// Completes operators on codes whose numbers depend on dynamic dimensions.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Sets the numbers that docs/arithmetic.md, A5.31, derives from extents: multiplier and shift of means and resizes,
/// epsilon of normalizations, and one factor for each element of their rows. Operators whose extents are still dynamic
/// stay as they are. Throws unsupported if an operator cannot have these extents.
void settle_extents(Model& model);

}  // namespace halfstep::passes

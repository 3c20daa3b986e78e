// Computes activations in float32 where a network widens them to float64 for a few operators.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Rewrites a cast of a float64 value to float32 as the same arithmetic in float32, where sums, products and moves of
/// elements compute the value from float32 values. Numbers that are counted along an axis stay in float64 up to there.
/// The importer writes a linear resize to dynamic sizes in this way.
void narrow_doubles(Model& model);

}  // namespace halfstep::passes

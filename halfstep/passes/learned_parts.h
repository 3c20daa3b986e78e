// What training moves in place of the tensors that a network computes with: normalizations inside weights, and
// quantizers that learn in ways of their own.
#pragma once

#include "halfstep/ir/model.h"

namespace halfstep::passes {

/// Tensors made anew of what training moves in their place.
void settle_learned_parts(Model& model);

/// The same for good: nothing else is left of them.
void close_learned_parts(Model& model);

}  // namespace halfstep::passes

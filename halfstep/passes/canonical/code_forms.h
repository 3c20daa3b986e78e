// Operators that become others because those have codes, in a network that is prepared; in float both are as good.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// A number at most this is nothing that a network computes with, but what hides elements from a softmax.
inline constexpr float kHidden = -1e30F;

/// Masks, whichever way they are written, become mask_fill: a select of x and a number; x plus a select of 0 and a
/// number that hides (within_reach.h), or plus a tensor of these two, perhaps moved in between. What guards a softmax
/// against rows that are hidden as a whole becomes another mask_fill, or goes where no row can be. A division by a
/// number becomes a product with its reciprocal, which differs by float32 rounding. A clip between numbers becomes a
/// hard_tanh, whose limits are attributes.
void code_forms(Model& model);

/// The masks alone.
void mask_forms(Model& model);

}  // namespace halfstep::passes

// Rewrites masks that a network computes or takes as input, based on their values at run time.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// A sum before a softmax with a mask as one operand becomes a mask_fill where the mask is at most kMasking. A mask
/// depends on no layer with weights and may contain such numbers: it is computed from a float input, or from a number
/// of that size. A mask of integers times such a number is 0 elsewhere, so no sum is left. Any other mask is added
/// without the numbers that hide, so that the codes of the sum cover only the visible elements.
void computed_masks(Model& model);

}  // namespace halfstep::passes

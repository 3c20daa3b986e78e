// Masks that a network computes or is given: which elements they hide is asked of their values.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// A sum in front of a softmax of which one operand is a mask becomes mask_fill where the mask is at most kMasking. A
/// mask depends on no layer with weights, and may have such numbers: it is made of an input in float, or of a number of
/// that size. A mask of whole numbers times such a number is 0 elsewhere, and no sum is left. Any other is added
/// without the numbers that hide, so that its codes are those of what it leaves.
void computed_masks(Model& model);

}  // namespace halfstep::passes

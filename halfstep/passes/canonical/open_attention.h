// Attention as the operators that it is a function of.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Every attention of f32 becomes its two products, scale, cap, masks and softmax. The names of its parts begin with
/// its own. One that shows its scores, has lengths as an operand, or windows over an open length, stays.
void open_attention(Model& model);

/// `prepared` with its source opened like that, and its sums of several values as open_sums does: what the layers of an
/// attention, or of such a sum, are held against.
Model with_open_source(const Model& prepared);

}  // namespace halfstep::passes

// Decomposes attention into its operators.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Each f32 attention becomes its two products, scale, cap, masks and softmax. Names of the parts begin with its own.
/// An attention stays if it outputs its scores, has lengths as an operand, or has windows over an unknown length.
void open_attention(Model& model);

}  // namespace halfstep::passes

// Attention as one operator.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// softmax(q * k^T * scale + mask) * v of operators that nobody else reads becomes one fused_attention, whose scores
/// are never in memory as a whole; where heads were split off and exchanged with positions for it, it reads and writes
/// rows as they were before. Scalings by positive numbers, on either factor or on the product, are its scale. Float
/// results move by rounding.
void fuse_attention(Model& model);

}  // namespace halfstep::passes

// Fuses attention into one operator.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// softmax(q * k^T * scale + mask) * v becomes one fused_attention if no other operation reads the values between. The
/// full score matrix is then never in memory. If heads were split off and exchanged with positions for it, the operator
/// reads and writes the original rows. Scalings by positive numbers, on either factor or on the product, become its
/// scale. Float results differ by rounding.
void fuse_attention(Model& model);

}  // namespace halfstep::passes

// One layout for a whole network: images with their channels as the last axis.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Every float convolution with constant weights becomes a fused_conv2d of that layout, and pools, pointwise
/// operations, concatenations, slices and paddings that read such images follow, so that images change their layout
/// where a chain of such operations begins and ends, and nowhere else. Values keep their names; float results move by
/// rounding. For inference: nothing may change the weights afterwards.
void channels_last(Model& model);

/// The same for convolutions of the integer program and for what reads their images; no code changes.
void channels_last_codes(Model& model);

}  // namespace halfstep::passes

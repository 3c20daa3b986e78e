// Converts a whole network to one layout: images with their channels as the last axis.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Each float convolution with constant weights becomes a fused_conv2d with channels last. Pools, pointwise operations,
/// concatenations, slices and paddings that read such images follow. So the layout changes only at the start and end of
/// a chain of such operations. Values keep their names. Float results differ by rounding. For inference only, because
/// weights must not change afterwards.
void channels_last(Model& model);

/// Converts convolutions and averages of the integer program and the readers of their images. No code changes.
void channels_last_codes(Model& model);

}  // namespace halfstep::passes

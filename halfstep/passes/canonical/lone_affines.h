// Folds operators that scale and shift channels by stored numbers into a new layer if no layer comes before them.
#pragma once

#include <functional>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/canonical/fold_tails.h"

namespace halfstep::passes {

/// Whether `op` multiplies each channel by one weight: a depthwise convolution with a window of one pixel, stride 1 and
/// no padding.
bool scales_channels(Op op);

/// Rewrites chains as in a layer's tail (layer_tail.h) that no layer before can fold. A chain becomes a convolution
/// with one weight for each channel, named like the last part. Channels are axis 1 or the last axis. A convolution of
/// values other than [n, c, h, w] has reshapes around it, and the second one has the name. Chains stay if all numbers
/// are equal along the channels too, or if `takes` rejects the convolution. See docs/design/lone_affines.md.
std::vector<FoldedTail> fold_lone_affines(Model& model, const std::function<bool(Op layer)>& takes);

}  // namespace halfstep::passes

// Operators that multiply channels by stored numbers and add stored numbers to them, where no layer stands in front.
#pragma once

#include <functional>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/canonical/fold_tails.h"

namespace halfstep::passes {

/// Whether `op` multiplies each channel by one weight: a depthwise convolution whose window is one pixel, with stride 1
/// and no padding.
bool scales_channels(Op op);

/// A chain as in a layer's tail (layer_tail.h), but behind a value that no layer can take it into, becomes a
/// convolution with one weight for each channel, of the name of the last part. Channels are axis 1 or the last axis;
/// around a convolution of other than [n, c, h, w] stand reshapes, the second of which has the name. Not where all
/// numbers are equal along the channels too, nor where `takes` refuses the convolution. docs/design/lone_affines.md
std::vector<FoldedTail> fold_lone_affines(Model& model, const std::function<bool(Op layer)>& takes);

}  // namespace halfstep::passes

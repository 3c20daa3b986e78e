// How fast the channels of quantized weights learn.
#pragma once

#include <map>
#include <string>

#include "halfstep/ir/model.h"

namespace halfstep::train {

/// Factors of gradients, by parameter. Folding a batch norm leaves a channel's weights and its step size at any
/// magnitude; the same step that is small to most of them throws a channel of tiny weights, and its step size below
/// zero. Where weights have a learned scale for each channel, the channel's gradients are multiplied by
/// min(1, (8 scale / median scale)^2), of the scales' magnitudes in `prepared`: below an eighth of the usual scale, the
/// step that weights of that magnitude would take, with the rest of the channel's factor outside of them.
std::map<std::string, Tensor> channel_rates(const Model& prepared);

}  // namespace halfstep::train

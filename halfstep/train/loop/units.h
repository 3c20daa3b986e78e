// In which units the parameters of a prepared network learn (passes::OptimizerSpec::unit).
#pragma once

#include <map>
#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/train/evaluate/standing.h"

namespace halfstep::train {

/// The unit of each parameter: the product of two, where both hold.
///
/// Channels. Folding a batch norm leaves a channel's weights and its step size at any magnitude; the same step that is
/// small to most of them throws a channel of tiny weights. Where weights have a learned scale for each channel, the
/// channel's unit is min(1, 8 scale / median scale), of the scales' magnitudes in `prepared`: below an eighth of the
/// usual scale, the step that weights of that magnitude would take, with the rest of the channel's factor outside of
/// them.
///
/// Outputs. What an output is proportional to (weights, bias and learned scales of the layer that gives it) has its
/// spread as unit: a network whose last layer is ten times as large takes the same steps. No `spreads`: 1.
std::map<std::string, Tensor> units_of(const Model& prepared, const Spreads& spreads);

}  // namespace halfstep::train

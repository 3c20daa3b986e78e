// Units in which the parameters of a prepared network learn (passes::OptimizerSpec::unit).
#pragma once

#include <map>
#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/train/evaluate/history.h"

namespace halfstep::train {

/// The unit of each parameter: the product of two units, if both apply.
///
/// Channels. Folding a batch norm leaves the weights and step size of a channel at any magnitude. A step that is small
/// for most channels is too large for a channel of tiny weights. If weights have a learned scale for each channel, the
/// unit of the channel is min(1, 8 scale / median scale), by the magnitudes of the scales in `prepared`. Below an
/// eighth of the median, this is the step of weights at an eighth of the median, with the rest of the channel's factor
/// applied outside of them.
///
/// Outputs. Parameters that an output is proportional to (weights, bias and learned scales of the last layer) have its
/// spread as unit. A network with a ten times larger last layer then takes the same steps. Without `spreads`: 1.
std::map<std::string, Tensor> units_of(const Model& prepared, const Spreads& spreads);

}  // namespace halfstep::train

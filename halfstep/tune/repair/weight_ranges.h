// Selects weight ranges by the error in the outputs of layers.
#pragma once

#include <optional>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::repair {

/// Selects for each scale the range with the smallest squared error in the layer's outputs, on float activations.
/// Candidates are shares of the weight's extremes. Only layers of the network's body take part. Returns nothing if
/// weights are computed from other tensors, if levels are not evenly spaced, or if no layer has a quantizer for its own
/// weight.
std::optional<Model> ranges_by_outputs(const Model& prepared, const data::Samples& samples, ThreadPool& pool);

}  // namespace halfstep::repair

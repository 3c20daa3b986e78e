// Ranges of weights by what their rounding does to what the layers give.
#pragma once

#include <optional>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::repair {

/// The network with those ranges of weights that make the least squared error in what each layer gives, of shares of
/// the weight's extremes; scale by scale, on the features that layers read in float. Of layers of the body alone; none
/// where weights are made of others, levels are not evenly spaced, or no layer has a quantizer for its own weight.
std::optional<Model> ranges_by_outputs(const Model& prepared, const data::Samples& samples, ThreadPool& pool);

}  // namespace halfstep::repair

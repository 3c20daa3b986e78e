// The built-in networks and fresh parameters.
#pragma once

#include <cstdint>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::train {

/// The network `name` of models/NAME.ir (a path to an .ir file works as well) for samples of those extents ([channels,
/// height, width]), with parameters drawn from `seed`: weights normal with variance 2 / fan_in (He et al., 2015),
/// normalization 1 and 0, biases 0.
Model create_network(const std::string& name, const Dims& sample_dims, int64_t classes, uint64_t seed);

/// Draws the contents of every parameter and state tensor of `graph`. A tensor's values depend on the seed and its
/// name's place in name order.
Model initialize(Graph graph, uint64_t seed);

}  // namespace halfstep::train

// The built-in networks, and initial parameters.
#pragma once

#include <cstdint>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::train {

/// The network models/`name`.ir (or `name` is the path of an .ir file) for samples of these extents ([channels, height,
/// width]). `seed` determines the parameters: weights are normal with variance 2 / fan_in (He et al., 2015),
/// normalizations 1 and 0, biases 0.
Model create_network(const std::string& name, const Dims& sample_dims, int64_t classes, uint64_t seed);

/// Draws the contents of every parameter and state tensor of `graph`. They depend on the seed and on the tensor's index
/// in the order of names.
Model initialize(Graph graph, uint64_t seed);

}  // namespace halfstep::train

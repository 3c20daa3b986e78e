// A weight for each call of a layer.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Weights and biases that several layers read become one for each: the first keeps the tensor, the others get copies
/// NAME.2, NAME.3, ... which training moves apart. No result changes.
void duplicate_weights(Model& model);

}  // namespace halfstep::passes

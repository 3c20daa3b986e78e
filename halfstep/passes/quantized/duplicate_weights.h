// Gives each call of a layer its own weight.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Duplicates weights and biases that several layers read. The first layer keeps the tensor, the others get copies
/// NAME.2, NAME.3, ... so that training can change each separately. No result changes.
void duplicate_weights(Model& model);

}  // namespace halfstep::passes

// PReLU in operators that have codes.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// A prelu with one stored slope becomes a leaky_relu, which layers fuse and whose slope training does not change. One
/// with a slope for each channel becomes relu(x) + slope * min(x, 0), so that the product is a layer of its own.
void prelu_forms(Model& model);

}  // namespace halfstep::passes

// Bounds that are an activation.
#pragma once

#include "halfstep/ir/model.h"

namespace halfstep::passes {

/// A clip whose bounds are constants becomes relu where they are 0 and nothing, relu6 where they are 0 and 6: the same
/// numbers.
void name_clips(Model& model);

}  // namespace halfstep::passes

// Rewrites sums and means of many values as sums of two values.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Each sum_of and mean_of of several values becomes additions in order, starting at the first value. A mean ends with
/// a division by the number of values. Names of the parts start with the name of the operation, and the last part has
/// that name. Applies to f32 only, because other types round between additions.
void open_sums(Model& model);

}  // namespace halfstep::passes

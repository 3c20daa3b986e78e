// What open extents were needed for, once all are known.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Positions along an axis of known extent become a constant tensor, and a reshape by the extent of another value one
/// by numbers.
void close_extents(Model& model);

}  // namespace halfstep::passes

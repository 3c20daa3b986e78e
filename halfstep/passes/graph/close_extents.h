// Replaces computations on extents once all extents are known.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Positions along an axis of known extent become a constant tensor. A reshape by the extent of another value becomes a
/// reshape by numbers. A value whose elements are all masked becomes a number that is broadcast.
void close_extents(Model& model);

}  // namespace halfstep::passes

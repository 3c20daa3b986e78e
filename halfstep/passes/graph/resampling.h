// Resampling from the attributes of operations.
#pragma once

#include "halfstep/core/arith/resample.h"
#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// `op` is a resize of floats or codes.
arith::Resampling resampling_of(Op op);

}  // namespace halfstep::passes

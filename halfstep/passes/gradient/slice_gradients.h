#pragma once

#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// The gradient of `value` where `terms`, which it is the sum of, are those of slices that cut an axis into parts
/// without gaps: what was cut, behind each other again. A null value where they are anything else.
Value joined_slices(Builder& builder, Value value, const std::vector<Value>& terms);

}  // namespace halfstep::passes

#pragma once

#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Joins the gradients of slices that cut an axis into parts without gaps. `terms` sum up to the gradient of `value`.
/// Returns the concatenated gradients of the parts, or a null value if `terms` are anything else.
Value joined_slices(Builder& builder, Value value, const std::vector<Value>& terms);

}  // namespace halfstep::passes

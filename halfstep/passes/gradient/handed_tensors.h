// Turns tensors that regions update into values that the regions take and return.
#pragma once

#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Rewrites operations of the body whose regions, at any depth, read or update any of `tensors`. The operation takes
/// the contents of a tensor as a state or a captured value, and returns the final contents as one more result. Its
/// regions then neither read nor update the tensor. Returns the final contents of each tensor, or the tensor itself if
/// nothing updates it.
std::vector<Value> hand_through(Graph& graph, const std::vector<Value>& tensors);

}  // namespace halfstep::passes

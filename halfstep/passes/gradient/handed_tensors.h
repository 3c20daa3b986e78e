// Tensors that regions update, as values that go in and out.
#pragma once

#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Rewrites the operations of the body that hold regions with any of `tensors` in them, however deep: they take what a
/// tensor holds as a state or a captured value, and give what it holds behind them as one more result, so that their
/// regions neither read nor update it. Returns what each holds in the end, which is the tensor where nothing updates
/// it.
std::vector<Value> hand_through(Graph& graph, const std::vector<Value>& tensors);

}  // namespace halfstep::passes

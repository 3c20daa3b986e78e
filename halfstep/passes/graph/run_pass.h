// How a pass is run, wherever one is.
#pragma once

#include <functional>
#include <string_view>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Calls `run`, which changes `graph`. An internal error that leaves it names the pass. Debug builds, and processes
/// that have HALFSTEP_VERIFY_PASSES in their environment (all tests), verify the graph afterwards.
void run_pass(std::string_view name, const Graph& graph, const std::function<void()>& run);

/// verify(), for a graph that we have made: what is wrong with it is an internal error that starts with `where`.
void verify_own(std::string_view where, const Graph& graph);

}  // namespace halfstep::passes

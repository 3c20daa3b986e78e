// Runs one pass with error context and optional verification.
#pragma once

#include <functional>
#include <string_view>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Calls `run`, which changes `graph`. An internal error that it throws names the pass. The graph is verified
/// afterwards in debug builds and if HALFSTEP_VERIFY_PASSES is in the environment (as in all tests).
void run_pass(std::string_view name, const Graph& graph, const std::function<void()>& run);

/// Calls verify() on a graph that Halfstep built. A violation is an internal error that starts with `where`.
void verify_own(std::string_view where, const Graph& graph);

}  // namespace halfstep::passes

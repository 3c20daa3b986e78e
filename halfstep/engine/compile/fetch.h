// Selects the values that a program returns.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::compiler {

/// Makes the values of these names the outputs of the graph, under these names. A name is looked up among outputs, then
/// values, then tensors. Throws if a value is unknown or not produced ("digits.ir:12: node 'q': out_scale is not
/// produced when is_test is true").
void set_fetches(Graph& graph, const std::vector<std::string>& fetch);

}  // namespace halfstep::compiler

// Which values a program returns.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::compiler {

/// Makes the values of these names (outputs, values, tensors, in this order of preference) the outputs of the graph,
/// under these names. Throws when one is not produced ("digits.ir:12: node 'q': out_scale is not produced when is_test
/// is true") or unknown.
void set_fetches(Graph& graph, const std::vector<std::string>& fetch);

}  // namespace halfstep::compiler

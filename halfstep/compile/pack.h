// Which tensors kernels may take as constants, and pack when they are prepared.
#pragma once

#include <set>
#include <string>

#include "halfstep/ir/graph.h"

namespace halfstep::compiler {

/// Names of the tensors that no operation updates; none of them unless `freeze`.
std::set<std::string> frozen_tensors(const Graph& graph, bool freeze);

}  // namespace halfstep::compiler

// Finds the tensors that kernels may treat as constants and pack during preparation.
#pragma once

#include <set>
#include <string>

#include "halfstep/core/ir/graph.h"

namespace halfstep::compiler {

/// Names of the tensors that an operation updates, inside or outside regions.
std::set<std::string> updated_tensors(const Graph& graph);

/// Names of the tensors that are not in `updated`, which covers the whole program. Empty unless `freeze`.
std::set<std::string> frozen_tensors(const Graph& graph, const std::set<std::string>& updated, bool freeze);

}  // namespace halfstep::compiler

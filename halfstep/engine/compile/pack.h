// Which tensors kernels may take as constants, and pack when they are prepared.
#pragma once

#include <set>
#include <string>

#include "halfstep/core/ir/graph.h"

namespace halfstep::compiler {

/// Names of the tensors that an operation updates, in a region or not.
std::set<std::string> updated_tensors(const Graph& graph);

/// Names of the tensors that are not among `updated`, those of the whole program; none of them unless `freeze`.
std::set<std::string> frozen_tensors(const Graph& graph, const std::set<std::string>& updated, bool freeze);

}  // namespace halfstep::compiler

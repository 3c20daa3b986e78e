// Lowers a graph to instructions over slots, with the transfers that its devices need.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "halfstep/engine/compile/placement.h"
#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::compiler {

/// A program under construction. Later stages set kernels, dependencies and offsets.
struct Lowering {
  runtime::ProgramSpec spec;
  std::vector<Op> ops;  ///< indexed by instruction, null for copies and for instructions that run regions
};

/// FlowSpec of each operation with regions, by the operation's name.
using Flows = std::map<std::string, std::shared_ptr<runtime::FlowSpec>>;

/// Instructions keep the graph's order. A value is transferred at most once to each device, before its first reader
/// there. A frozen tensor is stored on each device that reads it and never transferred. An update overwrites a tensor
/// in place. If a later instruction still reads the old contents, a copy NAME:old is made before the update.
Lowering lower(const Graph& graph, const Placement& placement, const std::set<std::string>& frozen, const Flows& flows);

}  // namespace halfstep::compiler

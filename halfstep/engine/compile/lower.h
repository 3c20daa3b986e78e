// A graph as instructions over slots, with the transfers that its places force.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "halfstep/engine/compile/placement.h"
#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::compiler {

/// A program in the making. Later stages fill in kernels, dependencies and offsets.
struct Lowering {
  runtime::ProgramSpec spec;
  std::vector<Op> ops;  ///< by instruction; null for copies and for what runs regions
};

/// What runs the regions of an operation, by its name.
using Flows = std::map<std::string, std::shared_ptr<runtime::FlowSpec>>;

/// Instructions in the graph's order. A value is transferred at most once to each place, before its first reader there.
/// A frozen tensor is put wherever it is read and never transferred. An update of a tensor overwrites it in place, so
/// where something later still reads the old contents, a copy NAME:old is made before it.
Lowering lower(const Graph& graph, const Placement& placement, const std::set<std::string>& frozen, const Flows& flows);

}  // namespace halfstep::compiler

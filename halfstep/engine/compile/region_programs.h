// Regions as programs inside the program of the network that holds them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/compile/lower.h"
#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::compiler {

/// What holds for a network and all of its regions.
struct Context {
  std::set<std::string> updated;  ///< tensors that any operation updates
  bool one_order = false;
  bool runs = true;       ///< else it is only looked at, and nothing is packed
  bool on_codes = false;  ///< any of it computes on codes: then no pass moves what stays in float by rounding
};

using runtime::Unit;

/// Checks, optimizes and compiles `work`, its regions among it.
Unit compile_unit(Model& work, const CompileOptions& options, const Context& context);

/// The regions of one operation.
struct RegionUnits {
  std::string op;  ///< its name
  std::shared_ptr<runtime::FlowSpec> flow;
  std::vector<std::vector<Tensor>> contents;  ///< by region: of its tensors; none where it is compiled later
  /// Tensors that a region which is compiled later shares with the rest.
  std::vector<std::pair<runtime::TensorSpec, Tensor>> shared;
};

/// All regions of the operations of `work`, which take and give values on the host. Those whose arguments have open
/// extents are compiled when a run knows them.
std::vector<RegionUnits> compile_regions(const Model& work, const CompileOptions& options, const Context& context);

Flows flows_of(const std::vector<RegionUnits>& regions);

/// Makes the tensors of regions tensors of the unit around them: one that is updated is there once, a frozen one once
/// for its contents and place.
void adopt_tensors(Unit& unit, const RegionUnits& regions);

}  // namespace halfstep::compiler

// Compiles regions as programs inside the program of their network.
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

/// Settings for a network and all of its regions.
struct Context {
  std::set<std::string> updated;  ///< tensors that any operation updates
  bool one_order = false;
  bool runs = true;       ///< false: compile for inspection only, without packing
  bool on_codes = false;  ///< true if any part of it computes on codes: then no pass changes the rounding of float
                          ///< fallbacks
};

using runtime::Unit;

/// Checks, optimizes and compiles `work` and its regions.
Unit compile_unit(Model& work, const CompileOptions& options, const Context& context);

/// Compiled regions of one operation.
struct RegionUnits {
  std::string op;  ///< name of the operation
  std::shared_ptr<runtime::FlowSpec> flow;
  std::vector<std::vector<Tensor>> contents;  ///< contents of each region's tensors, empty if the region is compiled
                                              ///< later
  /// Tensors that a region compiled later shares with the rest.
  std::vector<std::pair<runtime::TensorSpec, Tensor>> shared;
};

/// All regions of the operations of `work`. They take and return values on the host. A region whose arguments have
/// dynamic dimensions is compiled when a run knows its extents.
std::vector<RegionUnits> compile_regions(const Model& work, const CompileOptions& options, const Context& context);

Flows flows_of(const std::vector<RegionUnits>& regions);

/// Adds the tensors of regions to the surrounding unit. An updated tensor exists once. A frozen tensor exists once for
/// each combination of contents and device.
void adopt_tensors(Unit& unit, const RegionUnits& regions);

}  // namespace halfstep::compiler

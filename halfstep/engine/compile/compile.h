// Model -> Program.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "halfstep/core/base/place.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/cpu.h"
#include "halfstep/engine/runtime/program.h"

namespace halfstep {

struct CompileOptions {
  /// Where operators run that have a kernel there; the others run on cpu. What an explicit `transfer` moves, and what
  /// is computed from it, stays where it was moved to.
  Place place = {};
  /// By argument: where it is fed. Default: on the host.
  std::map<std::string, Place> input_places = {};
  /// By output: where it must be. Default: on the host, but the result of an explicit `transfer` stays where that put
  /// it.
  std::map<std::string, Place> output_places = {};
  /// Arguments that are fed later: a run has a second part then, which begins where one of them is first read
  /// (Program::run_part).
  std::vector<std::string> later = {};
  /// Instead of the graph's outputs: names of outputs, values or tensors.
  std::vector<std::string> fetch = {};
  CpuLevel level = cpu_level();
  bool optimize = true;
  /// Names of optimization_passes().
  std::vector<std::string> disabled_passes = {};
  /// Tensors that no operation updates are constants: kernels may pack them, and set_tensor refuses them.
  bool freeze_tensors = true;
  /// Floats are computed in the order of the references, so that a result has the same bits on every level. A graph on
  /// codes is compiled so for inference in any case: its codes must not depend on the level.
  bool one_order = false;
  /// Called before each iteration of a loop with its number, from 0 on; what it throws ends the run.
  std::function<void(int64_t)> watch_iterations = {};
  /// Called whenever a region is about to run. Without `optimize` operations have the names and arguments of the graph.
  runtime::RegionWatcher watch_regions = {};
};

/// Throws Error that names what is wrong: extents that are not known (specialize the model first), a fetch of what is
/// not produced, constraints that cannot hold together, an operator without a kernel for its types.
runtime::Program compile(Model model, const CompileOptions& options = {});

/// The same to look at: weights are not packed, which takes their memory again. Throws as compile does.
runtime::ProgramSpec plan_program(Model model, const CompileOptions& options = {});

}  // namespace halfstep

// Compiles a Model into a Program.
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
  /// Device of all operators that have a kernel there. Other operators run on cpu. A value moved by an explicit
  /// `transfer`, and values computed from it, stay at the destination of the transfer.
  Place place = {};
  /// Where each argument is fed, by name. Default: on the host.
  std::map<std::string, Place> input_places = {};
  /// Where each output must be, by name. Default: on the host. The result of an explicit `transfer` stays at its
  /// destination.
  std::map<std::string, Place> output_places = {};
  /// Arguments that are fed later. A run then has a second part. It begins where one of them is first read
  /// (Program::run_part).
  std::vector<std::string> later = {};
  /// Names of outputs, values or tensors to return instead of the graph's outputs.
  std::vector<std::string> fetch = {};
  CpuLevel level = cpu_level();
  /// Run the optimization passes.
  bool optimize = true;
  /// Names from optimization_passes().
  std::vector<std::string> disabled_passes = {};
  /// Tensors that no operation updates become constants. Kernels may pack them, and set_tensor refuses them.
  bool freeze_tensors = true;
  /// Compute floats in the order of the references, so that results have the same bits on every CPU level. A graph on
  /// codes that is compiled for inference always does so, because its codes must not depend on the CPU level.
  bool one_order = false;
  /// Called before each iteration of a loop with its number, from 0. An exception from it ends the run.
  std::function<void(int64_t)> watch_iterations = {};
  /// Called before each run of a region. Without `optimize`, operations have the names and arguments of the graph.
  runtime::RegionWatcher watch_regions = {};
};

/// Throws an Error that names the cause: unknown extents (specialize the model first), a fetch of a value that is not
/// produced, contradictory placement constraints, or an operator without a kernel for its types.
runtime::Program compile(Model model, const CompileOptions& options = {});

/// Plans the program for inspection only. Weights are not packed, because packing needs their memory a second time.
/// Throws like compile.
runtime::ProgramSpec plan_program(Model model, const CompileOptions& options = {});

}  // namespace halfstep

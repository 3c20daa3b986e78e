// Optimizations: what may be left out without changing any quantized code.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/engine/compile/compile.h"

namespace halfstep {

struct PassInfo {
  std::string name;  ///< for CompileOptions::disabled_passes
  std::string doc;
};

/// In the order in which they run; the last, reuse_memory, acts on instructions.
std::vector<PassInfo> optimization_passes();

namespace compiler {

inline constexpr const char* kReuseMemory = "reuse_memory";

/// Those of them that act on networks.
std::vector<PassInfo> graph_passes();
/// Runs the one of that name, whatever the network is for: norms that fold are gone, tensors count as constants.
void run_graph_pass(Model& model, const std::string& name);
void check_graph_pass_names(const std::vector<std::string>& names);

/// Throws when a name is unknown.
void check_pass_names(const std::vector<std::string>& names);

/// Runs the passes on graphs that are not disabled. Those that let float results move by rounding, or change tensors,
/// only where these are frozen, on the CPU, and where nothing decides codes: `on_codes` says whether anything does, in
/// the whole program that `model` is a part of.
void optimize(Model& model, const CompileOptions& options, bool on_codes);

}  // namespace compiler
}  // namespace halfstep

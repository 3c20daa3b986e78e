// Optimizations. None of them changes a quantized code.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/engine/compile/compile.h"

namespace halfstep {

struct PassInfo {
  std::string name;  ///< name for CompileOptions::disabled_passes
  std::string doc;
};

/// In execution order. The last one, reuse_memory, works on instructions.
std::vector<PassInfo> optimization_passes();

namespace compiler {

inline constexpr const char* kReuseMemory = "reuse_memory";

/// The passes that work on graphs.
std::vector<PassInfo> graph_passes();
/// Runs one pass by name, whatever the purpose of the network: foldable norms are folded, tensors count as constants.
void run_graph_pass(Model& model, const std::string& name);
void check_graph_pass_names(const std::vector<std::string>& names);

/// Throws when a name is unknown.
void check_pass_names(const std::vector<std::string>& names);

/// Runs the graph passes that are not disabled. Some passes change rounding of float results or change tensors. They
/// run only with frozen tensors, on the CPU, and if no code depends on the result. `on_codes` tells whether any
/// operation of the whole program, which `model` is a part of, computes on codes.
void optimize(Model& model, const CompileOptions& options, bool on_codes);

}  // namespace compiler
}  // namespace halfstep

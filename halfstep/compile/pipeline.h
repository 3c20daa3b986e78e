// Optimizations: what may be left out without changing any quantized code.
#pragma once

#include <string>
#include <vector>

#include "halfstep/ir/model.h"

namespace halfstep {

struct PassInfo {
  std::string name;  ///< for CompileOptions::disabled_passes
  std::string doc;
};

/// In the order in which they run; the last, reuse_memory, acts on instructions.
std::vector<PassInfo> optimization_passes();

namespace compiler {

inline constexpr const char* kReuseMemory = "reuse_memory";

/// Throws when a name is unknown.
void check_pass_names(const std::vector<std::string>& names);

/// Runs the passes on graphs that are not disabled.
void optimize(Model& model, const std::vector<std::string>& disabled);

}  // namespace compiler
}  // namespace halfstep

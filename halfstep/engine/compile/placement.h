// Decides the device of each operation and of each input, tensor and output.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/engine/compile/compile.h"

namespace halfstep::compiler {

struct Placement {
  std::map<std::string, Place> ops;     ///< by name
  std::map<std::string, Place> inputs;  ///< by argument name
  /// Devices of tensors that are not frozen: the device of the operation that updates them, or the default device.
  std::map<std::string, Place> tensors;
  std::vector<Place> outputs;  ///< in order
};

/// Throws if a constraint names something unknown, or if two constraints contradict each other. The error names both.
Placement place(const Graph& graph, const CompileOptions& options);

}  // namespace halfstep::compiler

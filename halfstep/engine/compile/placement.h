// Where each operation runs and each value from outside lies.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/engine/compile/compile.h"

namespace halfstep::compiler {

struct Placement {
  std::map<std::string, Place> ops;     ///< by name
  std::map<std::string, Place> inputs;  ///< by argument
  /// Places of tensors that are not frozen: that of what updates them, or the default one.
  std::map<std::string, Place> tensors;
  std::vector<Place> outputs;  ///< in order
};

/// Throws when constraints name what is not there, or contradict each other: both are named.
Placement place(const Graph& graph, const CompileOptions& options);

}  // namespace halfstep::compiler

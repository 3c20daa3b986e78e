// Printer of the text form of a graph.
#pragma once

#include <string>

#include "halfstep/core/ir/graph.h"

namespace halfstep {

struct PrintOptions {
  bool locations = false;  ///< `at "file":line` after each operation, with the base name of the file
};

/// Returns ASCII text that `parse` reads back as an equal graph. Tensors come first, sorted by name, then operations.
/// Attributes with default values are omitted.
std::string print(const Graph& graph, const PrintOptions& options = {});

}  // namespace halfstep

// The text form of a graph, written.
#pragma once

#include <string>

#include "halfstep/core/ir/graph.h"

namespace halfstep {

struct PrintOptions {
  bool locations = false;  ///< `at "file":line` behind each operation; files by base name
};

/// ASCII text that `parse` makes an equal graph of. Tensors come first in name order, then operations; attributes that
/// have their default value are left out.
std::string print(const Graph& graph, const PrintOptions& options = {});

}  // namespace halfstep

// Products of codes on heads that lie side by side.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Transposes that exchange heads and positions, [0, 2, 1, 3], before or behind a product of codes become part of it:
/// it reads and writes rows as layers have them. One moves behind a product with a number first. The same codes.
void head_products(Graph& graph);

}  // namespace halfstep::passes

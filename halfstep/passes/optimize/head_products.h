// Products of codes on attention heads that lie side by side.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Transposes that exchange heads and positions, [0, 2, 1, 3], before or after a product of codes become part of it.
/// The product reads and writes rows in the layout of layers. A transpose before a product with a number first moves
/// behind that product. Codes do not change.
void head_products(Graph& graph);

}  // namespace halfstep::passes

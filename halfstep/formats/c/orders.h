// Element order of values in a C program.
#pragma once

#include <set>
#include <span>

#include "halfstep/core/ir/graph.h"

namespace halfstep::formats::c {

/// Returns the values that are images, [n, c, h, w]: values read by a window operator, and values that are added,
/// multiplied, concatenated, sliced or padded with them. Images are stored channels last, all others in the network's
/// order.
std::set<const detail::ValueNode*> images(const Graph& graph);

/// Returns extents in memory order, the innermost last.
Dims stored_dims(const Dims& dims, bool is_image);

/// Returns the memory position of each element, by its index in the graph's order.
std::vector<int64_t> stored_places(const Dims& dims, bool is_image);

}  // namespace halfstep::formats::c

// In which order a C program keeps the elements of a value.
#pragma once

#include <set>
#include <span>

#include "halfstep/core/ir/graph.h"

namespace halfstep::formats::c {

/// The values that are images: [n, c, h, w] under a window somewhere, or added, multiplied, joined, cut or padded with
/// such. They are kept channels last, all others as they are.
std::set<const detail::ValueNode*> images(const Graph& graph);

/// Extents as they lie in memory, the innermost last.
Dims stored_dims(const Dims& dims, bool is_image);

/// Where each element of a value, by its index in the graph's order, is in memory.
std::vector<int64_t> stored_places(const Dims& dims, bool is_image);

}  // namespace halfstep::formats::c

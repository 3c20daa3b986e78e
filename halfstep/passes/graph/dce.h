// Dead code elimination.
#pragma once

#include "halfstep/core/ir/graph.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Whether the operation, or one in its regions, updates a tensor.
bool has_effect(Op op);

/// Removes every operation without results or without readers of its results, unless it updates a tensor. Declared
/// tensors stay.
void dce(Graph& graph);
/// Removes dead operations of one block of the graph.
void dce(Graph& graph, const Block& block);

/// Removes dead operations of the whole network, and unread tensors with their contents.
void dce(Model& model);

}  // namespace halfstep::passes

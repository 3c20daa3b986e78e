// Dead code elimination.
#pragma once

#include "halfstep/core/ir/graph.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Whether the operation, or one in its regions, updates a tensor.
bool has_effect(Op op);

/// Removes every operation whose results nobody reads (or that produces none), unless it updates a tensor: that is a
/// use. Declared tensors stay.
void dce(Graph& graph);
/// The same in one of its blocks.
void dce(Graph& graph, const Block& block);

/// In the whole network; drops tensors that nothing reads, with their contents.
void dce(Model& model);

}  // namespace halfstep::passes

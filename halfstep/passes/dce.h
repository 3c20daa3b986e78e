// Dead code elimination.
#pragma once

#include "halfstep/ir/graph.h"
#include "halfstep/ir/model.h"

namespace halfstep::passes {

/// Removes every operation whose results nobody reads (or that produces none), unless it updates a tensor: that is a
/// use. Declared tensors stay.
void dce(Graph& graph);

/// The same, and drops tensors that nothing reads, with their contents.
void dce(Model& model);

}  // namespace halfstep::passes

// Steps that several passes rewrite graphs with.
#pragma once

#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// A new operation in front of `before`, with its location, and with its name where that is still free.
Op insert_before(Graph& graph, Op before, const OpInfo& info, std::vector<Value> operands, Attributes attributes = {});

/// `made`, with one result, takes the place and the name of `old`, which goes.
void replace(Graph& graph, Op old, Op made);

}  // namespace halfstep::passes

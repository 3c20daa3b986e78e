// Rewriting steps shared by several passes.
#pragma once

#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Inserts an operation before `before`, with its location, and with its name if that is free.
Op insert_before(Graph& graph, Op before, const OpInfo& info, std::vector<Value> operands, Attributes attributes = {});

/// Replaces `old` by `made`, which has one result and takes over the name.
void replace(Graph& graph, Op old, Op made);

/// Erases the operation of a value without readers, and then those before it that have lost theirs.
void erase_unread(Graph& graph, Value value);

}  // namespace halfstep::passes

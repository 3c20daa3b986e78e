// Questions about operations and values that several passes ask.
#pragma once

#include <unordered_set>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Whether running the operation changes a tensor: it produces an output that is the next value of a tensor operand.
bool updates_state(Op op);

/// The operation that updates `tensor`; null when there is none. Throws when there are two, naming both.
Op updater_of(Value tensor);

/// The tensors that operations of a region, and of those inside it, read; each once.
std::vector<Value> tensors_in(const Block& region);

/// What the operation reads: its operands but absent ones, and the tensors in its regions.
std::vector<Value> reads(Op op);

using ValueSet = std::unordered_set<const detail::ValueNode*>;

/// `found`, and what operations of a block make of it; an operation with regions only what these make of it.
ValueSet dependents(const Block& block, ValueSet found);

/// Whether the block of the operation that produces `value` returns it, so that its name is known outside.
bool is_output(Value value);

/// The only operation that reads `value`, a result, or null; null too where it is an output.
Op only_reader(Value value);

/// Throws an internal error where `made`, which stands for `value` in a graph that is made out of another, has other
/// extents.
void expect_extents(const detail::ValueNode& value, Value made);

}  // namespace halfstep::passes

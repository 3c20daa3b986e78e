// Queries about operations and values that several passes use.
#pragma once

#include <unordered_set>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Whether the operation changes a tensor: one of its outputs is the next value of a tensor operand.
bool updates_state(Op op);

/// Returns the operation that updates `tensor`, or null. Throws if there are two, naming both.
Op updater_of(Value tensor);

/// Whether the value is an f32 tensor that no operation updates.
bool is_stored_f32(Value value);

/// Returns each tensor once that operations of a region, or of regions inside it, read.
std::vector<Value> tensors_in(const Block& region);

/// Returns the operands of the operation except absent ones, and the tensors in its regions.
std::vector<Value> reads(Op op);

using ValueSet = std::unordered_set<const detail::ValueNode*>;

/// Returns `found` and all values of a block computed from it. An operation with regions contributes only the results
/// that its regions compute from it.
ValueSet dependents(const Block& block, ValueSet found);

/// Whether the block of the operation that produces `value` returns it, so that its name is known outside.
bool is_output(Value value);

/// Returns the only operation that reads `value`, a result. Returns null if there is none or several, or if `value` is
/// an output.
Op only_reader(Value value);

/// Throws an internal error if the extents of `made` differ from those of `value`. `made` replaces `value` in a graph
/// derived from another.
void expect_extents(const detail::ValueNode& value, Value made);

}  // namespace halfstep::passes

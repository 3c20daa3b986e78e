// Groups operations that files write separately but that form one layer.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Operations that compute as one. Most units are one operation.
struct Unit {
  std::string kind;           ///< the operator, or the name of the group: silu, gelu, ...
  std::vector<Op> ops;        ///< in order, the last one makes the result
  std::vector<Value> inputs;  ///< activations, without weights and values that only these operations read
  Op weighted = {};           ///< the operation of `ops` with stored weights
  Value result() const { return ops.back().out(0); }
};

/// Returns the units of a float graph, in the order of their last operations. Groups are:
/// - silu: x * sigmoid(x)
/// - hard_swish: x * hard_sigmoid(x)
/// - gelu: x / 2 * (1 + erf(x / sqrt 2)) in any order
/// - layer_norm: (x - mean) / sqrt(variance + epsilon) with its factor and offset
/// - linear: a matrix product of rows with the reshapes around it and its bias
/// - flatten: a reshape that merges all axes but the first
std::vector<Unit> units_of(const Graph& graph);

}  // namespace halfstep::passes

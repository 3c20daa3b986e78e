// Operations that files write as several: what their makers call one layer.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// What computes as one operation. Most units are one operation.
struct Unit {
  std::string kind;           ///< the operator, or that which the operations make together: silu, gelu, ...
  std::vector<Op> ops;        ///< in order; the last gives the result
  std::vector<Value> inputs;  ///< features: neither weights, nor what only these operations read
  Op weighted = {};           ///< that of `ops` which has stored weights
  Value result() const { return ops.back().out(0); }
};

/// The units of a float graph, in the order of their last operations. Together are: x * sigmoid(x) (silu), x *
/// hard_sigmoid(x) (hard_swish), x / 2 * (1 + erf(x / sqrt 2)) in any order (gelu), (x - mean) / sqrt(variance +
/// epsilon) with its factor and offset (layer_norm), and a matrix product of rows with the reshapes around it and its
/// bias (linear). A reshape that makes one axis of all but the first is a flatten.
std::vector<Unit> units_of(const Graph& graph);

}  // namespace halfstep::passes

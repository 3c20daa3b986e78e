// Gradients of operations that hold regions.
#pragma once

#include <utility>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {

/// Appends the operations that compute gradients of `op`: of its operands and of tensors in its regions, if these are
/// in `wanted`. `wanted` also contains all values that depend on them. Returns values with their gradients, a value as
/// often as it is an operand. `out_grads` are by result, and a null value means zero.
/// A branch or a call gets an operation of its kind, whose regions recompute the values that gradients read. A loop or
/// a scan gets a `backward`. Only `op` updates tensors that regions update. Recomputed iterations and branches use
/// values that start with the contents the tensors had before `op`. Throws an Error that names operators in the regions
/// without a gradient.
std::vector<std::pair<Value, Value>> flow_gradients(Model& model, Builder& builder, Op op,
                                                    const std::vector<Value>& out_grads, const ValueSet& wanted);

}  // namespace halfstep::passes

// Gradients of operations that hold regions.
#pragma once

#include <utility>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {

/// Appends what the gradients of operands of `op` and of tensors in its regions need, of those among `wanted`, which
/// also has what depends on them; each with its gradient, a value as often as it is an operand. `out_grads` lie by
/// result, a null value meaning zero. A branch or a call gets one of its kind, whose regions compute again what
/// gradients read; a loop or a scan gets a `backward`. Tensors that regions update are updated by `op` alone: where
/// iterations or branches are computed again, they are values that begin as they did for `op`. Throws a Error that
/// names what has no gradient in the regions.
std::vector<std::pair<Value, Value>> flow_gradients(Model& model, Builder& builder, Op op,
                                                    const std::vector<Value>& out_grads, const ValueSet& wanted);

}  // namespace halfstep::passes

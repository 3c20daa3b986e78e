// Constant folding.
#pragma once

#include <functional>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Runs one operation. Takes operands by flat position (undefined if absent), returns the produced results in port
/// order.
using Evaluate = std::function<std::vector<Tensor>(Op op, const std::vector<Tensor>& operands)>;

/// Maximum result size in bytes that is folded. A small constant that is repeated must not become a large file.
inline constexpr int64_t kMaxFoldedBytes = int64_t{1} << 20;

/// Predicate that selects the operations to replace.
using Folds = std::function<bool(Op op)>;

/// Replaces every operation of the body that reads only tensors of Role::constant (at least one) by constant tensors
/// with the names of its results. An operation stays if it produces an output of the graph, updates a tensor, is a
/// transfer (it names a device) or makes more than kMaxFoldedBytes. Operations that `folds` excludes stay too.
void fold_constants(Model& model, const Evaluate& evaluate, const Folds& folds = {});

}  // namespace halfstep::passes

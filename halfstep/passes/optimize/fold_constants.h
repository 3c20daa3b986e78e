// Constant folding.
#pragma once

#include <functional>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Runs one operation: operands by flat position (undefined where absent) to results in port order, those produced
/// only.
using Evaluate = std::function<std::vector<Tensor>(Op op, const std::vector<Tensor>& operands)>;

/// Results of one operation beyond this many bytes are not folded: a small constant that is repeated must not become a
/// large file.
inline constexpr int64_t kMaxFoldedBytes = int64_t{1} << 20;

/// Every operation of the body whose operands (at least one) are all tensors of Role::constant becomes constant tensors
/// named as its results. An operation stays where it produces an output of the graph, updates a tensor, is a transfer
/// (it states a place) or makes more than kMaxFoldedBytes.
void fold_constants(Model& model, const Evaluate& evaluate);

}  // namespace halfstep::passes

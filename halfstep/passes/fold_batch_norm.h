// Batch normalization folded into the layer before it.
#pragma once

#include "halfstep/ir/model.h"

namespace halfstep::passes {

/// An operation with weights (trait weighted), then batch_norm with is_test true, becomes the operation alone: its
/// weight and bias take the normalization in, computed in double and rounded once, so float results move by rounding.
/// It keeps its name, as do its tensors and the graph's outputs; the normalization's own name and tensors go. A bias
/// that was absent becomes the tensor NAME.b. Left as it is: where the normalization is not the only reader, or the
/// weight or bias is no tensor of this operation alone.
void fold_batch_norm(Model& model);

}  // namespace halfstep::passes

// Merges operations that exporters write separately into one layer.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Replaces each match of all_patterns() by its operation, under the name of its last operation. Requires that all
/// values are f32, that nothing else reads values inside the match, and that the result keeps its type. Tensors that
/// lose their last reader stay.
void rewrite_patterns(Model& model);

}  // namespace halfstep::passes

// Splits layers whose outputs are read in parts.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Applies to a linear layer whose outputs only slices read, after reshapes and a transpose that keep rows separate. It
/// becomes one layer for each slice, with the matching rows of the weight. Queries, keys and values that an exporter
/// merged into one product then lie in the layout that attention reads. Bits do not change. For inference only, because
/// it reads weights.
void split_layers(Model& model);

/// Splits layers of codes.
void split_code_layers(Model& model);

}  // namespace halfstep::passes

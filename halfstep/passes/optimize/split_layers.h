// Layers whose outputs are read in parts.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// A linear layer whose outputs nobody reads but slices, behind reshapes and a transpose that leave rows apart, becomes
/// a layer for each slice, with its rows of the weight: queries, keys and values that an exporter made in one product
/// are then where attention reads them. Bits do not change. For inference: it reads weights.
void split_layers(Model& model);

/// The same of layers of codes.
void split_code_layers(Model& model);

}  // namespace halfstep::passes

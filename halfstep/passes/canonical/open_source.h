// The source model of a prepared network in the operators that preparation makes of its layers.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Returns `prepared` with its source decomposed as in open_attention, open_recurrent, open_products and open_sums. It
/// is the reference for layers of an attention, a recurrent layer, a product or a sum of several values.
Model with_open_source(const Model& prepared);

}  // namespace halfstep::passes

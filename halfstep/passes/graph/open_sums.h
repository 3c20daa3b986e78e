// Sums and means of any number of values as sums of two.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Every sum_of and mean_of of several values becomes additions from the first value on, a mean with a division by
/// their number behind them. The names of the parts begin with its own, which the last part has. Of f32 alone: other
/// types round between additions.
void open_sums(Model& model);

}  // namespace halfstep::passes

// Limits of values, whichever way exporters write them.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Clips, and maxima and minima of one f32 value with stored numbers, become one operator for each chain of them: relu6
/// from 0 to 6, relu from 0 on, else a clip. One without limits, and a sum, mean, maximum or minimum of one value,
/// goes; where the network gives it under its name, it is an identity. The same numbers, where f32's largest number is
/// as good as infinity.
void clip_forms(Model& model);

}  // namespace halfstep::passes

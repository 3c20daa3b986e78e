// Canonical form of clips, maxima and minima.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Each chain of clips, and of maxima and minima of one f32 value with stored numbers, becomes one operator: relu6 for
/// 0 to 6, relu for a lower limit of 0, otherwise a clip. A chain without limits is removed, as is a sum, mean, maximum
/// or minimum of one value. If it is an output of the network, it becomes an identity. Results are the same numbers,
/// except that infinities may become f32's largest number.
void clip_forms(Model& model);

}  // namespace halfstep::passes

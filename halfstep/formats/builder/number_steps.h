// Ranges of numbers with a constant step.
#pragma once

#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {

/// Returns start + i * delta for all i before `limit`. All three operands have the same type.
Tensor range(const Node& node, const Tensor& start, const Tensor& limit, const Tensor& delta);

}  // namespace halfstep::formats

// Resizes to sizes that may depend on dynamic extents. Halfstep's operator has sizes and scales as attributes, which
// must be constant. An axis that already has its size is left out, and a multiple of the extent becomes a scale. Any
// other size uses index arithmetic, which gathers the elements that the operator would read.
#pragma once

#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {

/// An axis of an operand and its new size.
struct ResizedAxis {
  size_t axis;
  Element size;
};

/// `attributes` are those of `resize` without sizes, scales and axes. Throws depends_on_extents if an axis has no
/// supported form.
Operand resized_to(Builder& builder, const Node& node, Operand x, const std::vector<ResizedAxis>& axes,
                   const Attributes& attributes);

}  // namespace halfstep::formats

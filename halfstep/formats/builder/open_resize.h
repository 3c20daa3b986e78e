// Resizing to sizes of which some depend on open extents. Our operator has sizes and scales as attributes, which must
// be known: a size that an axis has already leaves it out, one that is a multiple of it is a scale, and any other is
// said by index arithmetic, which gathers the elements that the operator would read.
#pragma once

#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {

/// An axis of an operand and what it becomes.
struct ResizedAxis {
  size_t axis;
  Element size;
};

/// `attributes` are those of `resize` but for sizes, scales and axes. Throws depends_on_extents where an axis has no
/// such form.
Operand resized_to(Builder& builder, const Node& node, Operand x, const std::vector<ResizedAxis>& axes,
                   const Attributes& attributes);

}  // namespace halfstep::formats

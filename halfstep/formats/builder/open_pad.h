// Pads by numbers of elements that depend on dynamic extents.
#pragma once

#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {

/// Elements before and after an axis. Negative numbers remove elements.
struct PaddedAxis {
  size_t axis;
  Element before, after;
};

/// Pads `x` in the order of `axes`. `value` fills the places around x in the mode "constant", and is 0 if absent.
Operand padded_by(Builder& builder, const Node& node, Operand x, const std::vector<PaddedAxis>& axes,
                  const std::string& mode, const Operand& value);

}  // namespace halfstep::formats

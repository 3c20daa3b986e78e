// Images that become rows of pixels.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// An image with its channels last that is moved to channels first, whose pixels become one axis and then the rows, was
/// in that order from the start: a reshape of it. Bit-exact.
void join_pixels(Graph& graph);

}  // namespace halfstep::passes

// Which form of itself a network runs in.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

enum class Mode {
  evaluation,   ///< nothing changes: is_test is true everywhere
  calibration,  ///< observers observe, learned scales included; everything else is as in evaluation
  training  ///< is_test is false, but for observers of a learned scale (a parameter), which only training itself moves
};

/// Sets the attribute is_test of every operation that has one; outputs and operands come and go as the records'
/// presence rules say. Throws Error, naming node and port, where training needs an operand that the network does not
/// have, or where an output that goes away has a reader.
void set_mode(Graph& graph, Mode mode);

}  // namespace halfstep::passes

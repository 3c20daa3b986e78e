// Mode in which a network runs.
#pragma once

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

enum class Mode {
  evaluation,   ///< is_test is true everywhere, so no state changes
  calibration,  ///< observers are active, also those of learned scales, and all else is as in evaluation
  training      ///< is_test is false, except for observers of learned scales and of the widest range of all samples
};

/// Sets the attribute is_test of every operation that has one. Outputs and operands are added or removed by the
/// records' presence rules. Throws Error, naming node and port, if training needs an operand that the network lacks, or
/// if a removed output has a reader.
void set_mode(Graph& graph, Mode mode);

}  // namespace halfstep::passes

// Parameters in the form in which layers read them.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::capture {

/// Stores the results of reshapes, transpositions, slices and concatenations of parameters instead of the parameters,
/// as files do, because only stored weights can have codes. A result has the name of its first operand. An operation
/// stays if an element of a parameter would be stored twice, because training then changes two copies of it.
void store_moved_parameters(Model& model);

}  // namespace halfstep::capture

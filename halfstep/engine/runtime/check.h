// What keeps kernels inside their memory.
#pragma once

#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::runtime {

/// The spec, if every value lies inside the memory that it is planned in, and every kernel is given the types for which
/// it was prepared. Throws an internal Error that names instruction and operand.
ProgramSpec checked(ProgramSpec spec);

}  // namespace halfstep::runtime

// Checks that kernels stay inside their memory.
#pragma once

#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::runtime {

/// Returns the spec if every value lies inside its planned memory and every kernel receives the types it was prepared
/// for. Otherwise throws an internal Error that names instruction and operand.
ProgramSpec checked(ProgramSpec spec);

}  // namespace halfstep::runtime

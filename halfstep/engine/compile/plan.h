// Memory of a program: one arena per place.
#pragma once

#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::compiler {

/// Sets offsets of the slots in arenas and of the kernels' scratch, the sizes of the arenas, and naive_bytes. With
/// `reuse`, values whose lifetimes do not meet may share memory: order dependencies then keep every user of the earlier
/// one before the writer of the later one, so that instructions may run in any order that their dependencies allow.
void plan_memory(runtime::ProgramSpec& spec, bool reuse);

}  // namespace halfstep::compiler

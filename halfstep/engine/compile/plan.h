// Plans the memory of a program: one arena per device.
#pragma once

#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::compiler {

/// Sets the offsets of slots and kernel scratch memory in the arenas, the sizes of the arenas, and naive_bytes. With
/// `reuse`, values whose lifetimes do not overlap may share memory. Order dependencies then keep every user of the
/// earlier value before the writer of the later one. Instructions may therefore run in any order that their
/// dependencies allow.
void plan_memory(runtime::ProgramSpec& spec, bool reuse);

}  // namespace halfstep::compiler

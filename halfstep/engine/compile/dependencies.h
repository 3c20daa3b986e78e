// Computes the dependencies of each instruction.
#pragma once

#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::compiler {

/// Sets `first` and `last` of every slot, and the data dependencies. Adds an order dependency from every reader of a
/// tensor's old contents to the instruction that overwrites them.
void add_dependencies(runtime::ProgramSpec& spec);

/// Sorts order dependencies. Removes those that follow from others among the previous 2,048 instructions.
void reduce_order(runtime::ProgramSpec& spec);

}  // namespace halfstep::compiler

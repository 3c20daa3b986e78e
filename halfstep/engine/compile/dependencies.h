// What has to be done before each instruction.
#pragma once

#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::compiler {

/// Sets first and last of every slot, the data dependencies, and an order dependency from every reader of a tensor's
/// old contents to the instruction that overwrites them.
void add_dependencies(runtime::ProgramSpec& spec);

/// Sorts order dependencies and drops those that follow from others among the 2,048 instructions before.
void reduce_order(runtime::ProgramSpec& spec);

}  // namespace halfstep::compiler

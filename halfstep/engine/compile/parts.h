// Where a run may stop, to go on when more inputs are there.
#pragma once

#include <string>
#include <vector>

#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::compiler {

/// Cuts a program whose dependencies are known before the first instruction that reads one of the inputs `later`, and
/// says of every input and output which part it belongs to. None: one part. Throws for a name that no input has.
void cut_parts(runtime::ProgramSpec& spec, const std::vector<std::string>& later);

}  // namespace halfstep::compiler

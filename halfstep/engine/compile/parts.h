// Cuts a run into parts, so that it can stop and continue when more inputs are available.
#pragma once

#include <string>
#include <vector>

#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::compiler {

/// Cuts a program with known dependencies before the first instruction that reads one of the inputs `later`. Sets the
/// part of every input and output. An empty list makes one part. Throws if a name is not that of an input.
void cut_parts(runtime::ProgramSpec& spec, const std::vector<std::string>& later);

}  // namespace halfstep::compiler

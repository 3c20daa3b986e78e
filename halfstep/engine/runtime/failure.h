// Builds the error of a failed instruction.
#pragma once

#include <string>

#include "halfstep/engine/runtime/instruction.h"
#include "halfstep/engine/runtime/interpreter.h"

namespace halfstep::runtime {

/// The kernel's diagnostic, located as in "digits.ir:12: node 'loss': softmax_cross_entropy (kernel reference on cpu;
/// logits = 'fc' f32[32, 10] on cpu, 1280 bytes at 4096 in the arena; ...; 3 instructions skipped)".
Diagnostic describe_failure(const ProgramSpec& spec, const Failure& failure);

/// Example: "'fc' f32[32, 10] on cpu, 1280 bytes at 4096 in the arena".
std::string describe_slot(const Slot& slot);

}  // namespace halfstep::runtime

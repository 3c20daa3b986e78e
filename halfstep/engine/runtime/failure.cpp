#include "halfstep/engine/runtime/failure.h"

#include <fmt/format.h>

namespace halfstep::runtime {
namespace {

std::string describe_memory(const Slot& slot) {
  switch (slot.storage) {
    case Storage::arena: return fmt::format("{} bytes at {} in the arena", slot.bytes(), slot.offset);
    case Storage::tensor: return fmt::format("tensor of {} bytes", slot.bytes());
    case Storage::input: return fmt::format("{} bytes of an input", slot.bytes());
    case Storage::output: return fmt::format("{} bytes of an output", slot.bytes());
    case Storage::open: return "of dynamic dimensions";
  }
  return {};
}

std::string describe_operand(const ProgramSpec& spec, const Operand& operand) {
  return fmt::format("; {} = {}", operand.port, describe_slot(spec.slots[static_cast<size_t>(operand.slot)]));
}

std::string count(int instructions, const char* what) {
  return instructions == 0 ? ""
                           : fmt::format("; {} instruction{} {}", instructions, instructions == 1 ? "" : "s", what);
}

}  // namespace

std::string describe_slot(const Slot& slot) {
  return fmt::format("'{}' {} on {}, {}", slot.name, to_string(slot.type), to_string(slot.place),
                     describe_memory(slot));
}

Diagnostic describe_failure(const ProgramSpec& spec, const Failure& failure) {
  const Instruction& instruction = spec.instructions[static_cast<size_t>(failure.instruction)];
  std::string text = instruction.location.empty() ? "" : instruction.location + ": ";
  text += fmt::format("node '{}': {} (", instruction.name, instruction.op);
  text += instruction.kernel == nullptr ? "copy to " : fmt::format("kernel {} on ", instruction.kernel->name);
  text += to_string(instruction.place);
  for (const Operand& operand : instruction.in) {
    if (operand.slot >= 0) text += describe_operand(spec, operand);
  }
  for (const Operand& operand : instruction.out) {
    if (operand.slot >= 0) text += describe_operand(spec, operand);
  }
  text += count(failure.failed - 1, "failed after it") + count(failure.skipped, "skipped") + ")";
  return prefixed(text, Error(failure.diagnostic)).diagnostics().front();
}

}  // namespace halfstep::runtime

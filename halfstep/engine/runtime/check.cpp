#include "halfstep/engine/runtime/check.h"

#include <fmt/format.h>

#include "halfstep/core/base/status.h"

namespace halfstep::runtime {
namespace {

template <class... Args>
[[noreturn]] void bug(fmt::format_string<Args...> format, Args&&... args) {
  fail(errors::defect("program", fmt::format(format, std::forward<Args>(args)...)));
}

void check_memory(const ProgramSpec& spec, const std::vector<TensorSpec>& tensors, const Slot& slot) {
  if (slot.storage == Storage::tensor) {
    const TensorSpec& tensor = tensors.at(static_cast<size_t>(slot.index));
    if (slot.type != tensor.type)
      bug("'{}' is {}, and the tensor '{}' whose memory it has is {}", slot.name, to_string(slot.type), tensor.name,
          to_string(tensor.type));
  }
  if (slot.storage == Storage::arena && slot.offset + slot.bytes() > spec.arenas.at(slot.place))
    bug("'{}' ends at {} of an arena of {} bytes", slot.name, slot.offset + slot.bytes(), spec.arenas.at(slot.place));
}

void check_operand(const ProgramSpec& spec, const Instruction& instruction, const Operand& operand) {
  if (!operand.prepared) return;
  const bool is_there = operand.slot >= 0;
  const Type found = is_there ? spec.slots.at(static_cast<size_t>(operand.slot)).type : Type();
  if (is_there && found == *operand.prepared) return;
  bug("node '{}': {} '{}' is {}, and its kernel '{}' was prepared for {}", instruction.name, instruction.op,
      operand.port, is_there ? to_string(found) : "absent", instruction.kernel->name, to_string(*operand.prepared));
}

void check_copy(const ProgramSpec& spec, const Instruction& copy) {
  const Slot& from = spec.slots.at(static_cast<size_t>(copy.in.at(0).slot));
  const Slot& to = spec.slots.at(static_cast<size_t>(copy.out.at(0).slot));
  if (from.type != to.type) bug("node '{}': copies {} to {}", copy.name, to_string(from.type), to_string(to.type));
}

void check(const ProgramSpec& spec, const std::vector<TensorSpec>& tensors) {
  for (const Slot& slot : spec.slots) check_memory(spec, tensors, slot);
  for (const Instruction& instruction : spec.instructions) {
    for (const Operand& operand : instruction.in) check_operand(spec, instruction, operand);
    for (const Operand& operand : instruction.out) check_operand(spec, instruction, operand);
    if (instruction.flow != nullptr) {
      for (const RegionSpec& region : instruction.flow->regions) {
        if (region.program != nullptr) check(*region.program, tensors);
      }
    } else if (instruction.kernel == nullptr) {
      check_copy(spec, instruction);
    }
  }
}

}  // namespace

ProgramSpec checked(ProgramSpec spec) {
  check(spec, spec.tensors);
  return spec;
}

}  // namespace halfstep::runtime

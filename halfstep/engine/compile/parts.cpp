#include "halfstep/engine/compile/parts.h"

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/compile/errors.h"

namespace halfstep::compiler {
namespace {

/// For each slot, whether it is fed later.
std::vector<bool> mark_later(runtime::ProgramSpec& spec, const std::vector<std::string>& later) {
  std::vector<bool> is_later(spec.slots.size());
  for (const std::string& name : later) {
    const auto port = std::ranges::find(spec.inputs, name, &runtime::Port::name);
    if (port == spec.inputs.end()) {
      std::vector<std::string> names;
      for (const runtime::Port& input : spec.inputs) names.push_back(input.name);
      fail(errors::argument_of_later_part_unknown(spec.name, name, did_you_mean(name, names)));
    }
    port->part = 1;
    is_later[static_cast<size_t>(port->slot)] = true;
  }
  return is_later;
}

}  // namespace

void cut_parts(runtime::ProgramSpec& spec, const std::vector<std::string>& later) {
  if (later.empty()) return;
  const std::vector<bool> is_later = mark_later(spec, later);
  const auto first = std::ranges::find_if(spec.instructions, [&](const runtime::Instruction& instruction) {
    return std::ranges::any_of(instruction.in, [&](const runtime::Operand& operand) {
      return operand.slot >= 0 && is_later[static_cast<size_t>(operand.slot)];
    });
  });
  spec.parts.push_back(static_cast<int>(first - spec.instructions.begin()));
  for (runtime::Port& output : spec.outputs) {
    const auto slot = static_cast<size_t>(output.slot);
    output.part = is_later[slot] || spec.slots[slot].first >= spec.parts[1] ? 1 : 0;
  }
}

}  // namespace halfstep::compiler

#include "halfstep/engine/compile/describe.h"

#include <fmt/format.h>

#include <functional>

namespace halfstep {
namespace {

using runtime::Instruction;
using runtime::Operand;
using runtime::Slot;
using runtime::Storage;

std::string typed(Value value) {
  return (value.is_tensor() ? "@" : "") + value.name() + ": " + to_string(value.type());
}

std::string join(const std::vector<std::string>& parts, const char* separator = ", ") {
  return fmt::format("{}", fmt::join(parts, separator));
}

/// Attributes that differ from their default, as in the text form.
std::string changed_attributes(Op op) {
  std::vector<std::string> parts;
  for (const AttributeInfo& info : op.info().attributes) {
    const Attribute& value = op.attributes().at(info.name);
    if (info.required || value != info.default_value) parts.push_back(info.name + ": " + to_string(value));
  }
  return parts.empty() ? "" : " {" + join(parts) + "}";
}

std::string at_location(const std::string& location) { return location.empty() ? "" : "  at " + location; }

std::string network_line(Op op) {
  std::vector<std::string> in, out;
  const std::vector<Value> operands = op.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i])
      in.push_back(op.info().inputs[static_cast<size_t>(op.port_of(static_cast<int>(i)))].name + " = " +
                   typed(operands[i]));
  }
  for (const Value result : op.results())
    out.push_back(op.info().output_at(result.port()).name + " = " + typed(result));
  return fmt::format("  {} = {}({}){} -> {}{}\n", op.name(), op.info().name, join(in), changed_attributes(op),
                     join(out), at_location(to_string(op.location())));
}

std::string operands_text(const std::vector<Operand>& operands, const runtime::ProgramSpec& spec) {
  std::vector<std::string> parts;
  for (const Operand& operand : operands) {
    if (operand.slot >= 0) parts.push_back(operand.port + " = " + spec.slots[static_cast<size_t>(operand.slot)].name);
  }
  return join(parts);
}

std::string place_text(const Instruction& instruction, const runtime::ProgramSpec& spec) {
  std::string to = to_string(instruction.place);
  if (instruction.kernel != nullptr || instruction.flow != nullptr) return to;
  const std::string from = to_string(spec.slots[static_cast<size_t>(instruction.in[0].slot)].place);
  return from == to ? to : from + " -> " + to;
}

std::string kernel_text(const Instruction& instruction) {
  if (instruction.flow != nullptr) return "regions";
  return instruction.kernel == nullptr ? "copy" : instruction.kernel->name;
}

/// `tensors` are the tensors of the whole program.
std::string memory_text(const Slot& slot, const runtime::ProgramSpec& spec,
                        const std::vector<runtime::TensorSpec>& tensors) {
  const auto index = static_cast<size_t>(slot.index);
  switch (slot.storage) {
    case Storage::arena: return fmt::format("arena at {}", slot.offset);
    case Storage::tensor: return (tensors[index].frozen ? "frozen tensor " : "tensor ") + tensors[index].name;
    case Storage::input: return "input " + spec.inputs[index].name;
    case Storage::output: return "output " + spec.outputs[index].name;
    case Storage::open: return "made by the run";
  }
  return {};
}

std::string lifetime_text(const Slot& slot, int instructions) {
  const std::string first = slot.first < 0 ? "start" : std::to_string(slot.first);
  const std::string last = slot.last >= instructions ? "end" : slot.last < 0 ? "start" : std::to_string(slot.last);
  return first + " to " + last;
}

/// Called for a program, then for each of its regions with the path to it ("" for the outermost program).
using Show = std::function<void(const runtime::ProgramSpec& spec, const std::string& path)>;

void for_each_program(const runtime::ProgramSpec& spec, const std::string& path, const Show& show) {
  show(spec, path);
  for (const Instruction& instruction : spec.instructions) {
    if (instruction.flow == nullptr) continue;
    const auto& regions = instruction.flow->regions;
    for (size_t r = 0; r < regions.size(); ++r) {
      const std::string name = find_operator(instruction.op)->regions[r];
      if (regions[r].program != nullptr)
        for_each_program(*regions[r].program,
                         fmt::format("{}{} '{}' {}: ", path, instruction.op, instruction.name, name), show);
    }
  }
}

/// One section for a program and its regions.
std::string section(const std::string& title, const runtime::ProgramSpec& program,
                    const std::function<std::string(const runtime::ProgramSpec&)>& lines) {
  std::string text = title + "\n";
  for_each_program(program, "", [&](const runtime::ProgramSpec& spec, const std::string& path) {
    text += (path.empty() ? "" : "  " + path + "\n") + lines(spec);
  });
  return text;
}

std::string numbers(const std::vector<int>& list) { return fmt::format("{}", fmt::join(list, " ")); }

void add_block(std::string& text, const Block& block, const std::string& indent) {
  for (const Op op : block.ops()) {
    text += indent + network_line(op);
    for (size_t r = 0; r < op.regions().size(); ++r) {
      std::vector<std::string> arguments;
      for (const Value argument : op.regions()[r]->arguments()) arguments.push_back(typed(argument));
      text += fmt::format("{}    {}({})\n", indent, op.info().regions[r], join(arguments));
      add_block(text, *op.regions()[r], indent + "    ");
    }
  }
}

std::string instruction_lines(const runtime::ProgramSpec& spec) {
  std::string text;
  for (size_t i = 0; i < spec.instructions.size(); ++i) {
    const Instruction& instruction = spec.instructions[i];
    text += fmt::format("{:5}  {:12} {:10} {} = {}({}) -> {}{}\n", i, place_text(instruction, spec),
                        kernel_text(instruction), instruction.name, instruction.op, operands_text(instruction.in, spec),
                        operands_text(instruction.out, spec), at_location(instruction.location));
  }
  return text;
}

std::string value_lines(const runtime::ProgramSpec& spec, const std::vector<runtime::TensorSpec>& tensors) {
  const int count = static_cast<int>(spec.instructions.size());
  std::string text;
  for (size_t i = 0; i < spec.slots.size(); ++i) {
    const Slot& slot = spec.slots[i];
    text +=
        fmt::format("{:5}  {:24} {:20} {:5} {:20} {:>9} bytes  {}\n", i, slot.name, to_string(slot.type),
                    to_string(slot.place), memory_text(slot, spec, tensors), slot.bytes(), lifetime_text(slot, count));
  }
  for (const auto& [place, bytes] : spec.arenas)
    text += fmt::format("arena on {}: {} bytes\n", to_string(place), bytes);
  return text;
}

std::string dependency_lines(const runtime::ProgramSpec& spec) {
  std::string text;
  for (size_t i = 0; i < spec.instructions.size(); ++i) {
    const Instruction& instruction = spec.instructions[i];
    std::vector<std::string> parts;
    if (!instruction.data_dependencies.empty()) parts.push_back("reads " + numbers(instruction.data_dependencies));
    if (!instruction.order_dependencies.empty())
      parts.push_back("overwrites after " + numbers(instruction.order_dependencies));
    text += fmt::format("{:5}  {}: {}\n", i, instruction.name, parts.empty() ? "ready" : join(parts, "; "));
  }
  return text;
}

std::string kernel_lines(const runtime::ProgramSpec& spec) {
  std::string text;
  for (size_t i = 0; i < spec.instructions.size(); ++i) {
    const Instruction& instruction = spec.instructions[i];
    text += fmt::format("{:5}  {}: {} {} on {}", i, instruction.name, instruction.op, kernel_text(instruction),
                        to_string(instruction.place));
    if (instruction.kernel != nullptr) text += fmt::format(", pieces {}", fmt::join(instruction.plan.phases, " + "));
    text += "\n";
    for (const runtime::Refusal& refusal : instruction.refused)
      text += fmt::format("         not {}: {}\n", refusal.kernel, refusal.reason);
  }
  return text;
}

}  // namespace

std::string describe_network(const Graph& graph) {
  std::string text = "network " + graph.name() + "\n";
  for (const Value argument : graph.arguments()) text += "  input " + typed(argument) + "\n";
  for (const Value tensor : graph.tensors()) text += fmt::format("  {} {}\n", name(tensor.role()), typed(tensor));
  add_block(text, graph.body(), "");
  const std::vector<Value> outputs = graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i)
    text += fmt::format("  output {} = {}\n", graph.body().output_names()[i], typed(outputs[i]));
  return text;
}

std::string describe_instructions(const runtime::ProgramSpec& program) {
  return section("instructions", program, instruction_lines);
}

std::string describe_values(const runtime::ProgramSpec& program) {
  const runtime::MemoryReport memory = runtime::memory_of(program);
  const auto lines = [&](const runtime::ProgramSpec& spec) { return value_lines(spec, program.tensors); };
  return section("values", program, lines) +
         fmt::format("memory: planned peak {} bytes, naive sum {} bytes, tensors {} bytes\n", memory.planned,
                     memory.naive, memory.tensors);
}

std::string describe_dependencies(const runtime::ProgramSpec& program) {
  return section("dependencies", program, dependency_lines);
}

std::string describe_kernels(const runtime::ProgramSpec& program) { return section("kernels", program, kernel_lines); }

std::string describe(const Graph& graph, const runtime::ProgramSpec& program, bool explain) {
  std::string text = describe_network(graph) + "\n" + describe_instructions(program) + "\n" + describe_values(program) +
                     "\n" + describe_dependencies(program);
  if (explain) text += "\n" + describe_kernels(program);
  return text;
}

}  // namespace halfstep

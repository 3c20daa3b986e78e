// halfstep/engine/kernels/ops.h: named attributes and positions. halfstep/engine/kernels/table.cpp: kernel candidates
// of every operator.
#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

/// Writes struct out { static constexpr int out_ = 0; }. The underscore avoids a member with the name of its class.
void write_positions(Text& text, const std::string& which, const std::vector<Port>& ports) {
  std::vector<std::string> positions;
  for (const Port& port : ports) {
    const std::string name = port.name == which ? port.name + "_" : cpp_name(port.name);
    positions.push_back(fmt::format("{} = {}", name, positions.size()));
  }
  text.line("  struct {} {{\n    static constexpr int {};\n  }};", which, join(positions, ", "));
}

void write_struct(Text& text, const Record& record) {
  text.line("struct {} {{", pascal_case(record.name));
  if (!record.inputs.empty()) write_positions(text, "in", record.inputs);
  write_positions(text, "out", record.outputs);
  text.add(attribute_members(record));
  text.line("}};");
}

/// CUDA kernel symbols of an operator, best first.
std::vector<std::string> cuda_kernels_of(const Record& record) {
  std::vector<std::string> symbols;
  for (const std::string& name : record.cuda_kernels) symbols.push_back("cuda_" + record.name + "_" + name);
  return symbols;
}

/// CPU kernel symbols of an operator, best first.
std::vector<std::string> kernels_of(const Record& record) {
  if (!record.flow.empty()) return {};  // programs execute the regions themselves
  std::vector<std::string> symbols;
  for (const std::string& name : record.cpu_kernels) symbols.push_back("cpu_" + record.name + "_" + name);
  if (record.compute) symbols.push_back("cpu_" + record.name + "_simd");
  symbols.push_back("reference_" + record.name);
  return symbols;
}

}  // namespace

std::string attribute_members(const Record& record) {
  const std::string type = pascal_case(record.name);
  std::vector<std::string> initializers;
  Text text;
  for (const AttributeSpec& spec : record.attributes) {
    const std::string_view member = attribute_type_cpp(spec.value);
    text.line("  {} {};", member, cpp_name(spec.name));
    initializers.push_back(
        fmt::format("{}(get<{}>(attributes, {}))", cpp_name(spec.name), member, string_literal(spec.name)));
  }
  if (initializers.empty()) {
    text.line("  explicit {}(const Attributes&) {{}}", type);
  } else {
    text.line("  explicit {}(const Attributes& attributes)\n      : {} {{}}", type, join(initializers, ",\n        "));
  }
  return text.str();
}

std::string emit_kernel_ops(const Records& records) {
  Text text;
  text.add(generated_by("Attributes, operand and result positions, and kernels of each operator."));
  text.line("#pragma once\n");
  text.line("#include <string>\n#include <vector>\n");
  text.line("#include \"halfstep/engine/kernels/kernel.h\"\n");
  text.line("namespace halfstep::kernels {{");
  for (const Record* record : by_name(records)) {
    if (!record->flow.empty()) continue;
    text.blank();
    write_struct(text, *record);
    std::vector<std::string> symbols = kernels_of(*record);
    for (std::string& symbol : cuda_kernels_of(*record)) symbols.push_back(std::move(symbol));
    text.line("extern const Kernel {};", join(symbols, ", "));
  }
  text.line("\n}}  // namespace halfstep::kernels");
  return text.str();
}

namespace {

/// Writes an array of kernels for each operator, and the table of all operators with kernels.
void write_table(Text& text, const Records& records, const std::string& which,
                 std::vector<std::string> (*symbols_of)(const Record&)) {
  std::vector<const Record*> rows;
  for (const Record* record : by_name(records)) {
    const auto symbols = symbols_of(*record);
    if (symbols.empty()) continue;
    text.line("constexpr std::array<const Kernel*, {}> k{}{} = {{&{}}};", symbols.size(), which,
              pascal_case(record->name), join(symbols, ", &"));
    rows.push_back(record);
  }
  text.line("constexpr std::array<Row, {}> k{}Rows = {{{{", rows.size(), which);
  for (const Record* record : rows)
    text.line("    {{{}, k{}{}}},", string_literal(record->name), which, pascal_case(record->name));
  text.line("}}}};");
}

}  // namespace

std::string emit_kernel_table(const Records& records) {
  Text text;
  text.add(generated_by("The kernels of every operator, best first."));
  text.line("#include <algorithm>\n#include <array>\n");
  text.line("#include \"halfstep/engine/kernels/ops.h\"\n");
  text.line("namespace halfstep::kernels {{");
  text.line("namespace {{\n");
  text.line("struct Row {{\n  std::string_view op;\n  std::span<const Kernel* const> kernels;\n}};\n");
  write_table(text, records, "Cpu", kernels_of);
  text.line("\n#ifdef HALFSTEP_CUDA");
  write_table(text, records, "Cuda", cuda_kernels_of);
  text.line("#else\nconstexpr std::array<Row, 0> kCudaRows = {{}};\n#endif");
  text.add(R"(
std::span<const Kernel* const> find(std::span<const Row> rows, std::string_view op) {
  const auto found = std::lower_bound(rows.begin(), rows.end(), op, [](const Row& row, std::string_view o) { return row.op < o; });
  return found != rows.end() && found->op == op ? found->kernels : std::span<const Kernel* const>();
}

}  // namespace

std::span<const Kernel* const> cpu_kernels(std::string_view op) { return find(kCpuRows, op); }

std::span<const Kernel* const> cuda_kernels(std::string_view op) { return find(kCudaRows, op); }

const Kernel* reference_kernel(std::string_view op) {
  const auto kernels = cpu_kernels(op);
  return kernels.empty() ? nullptr : kernels.back();
}

}  // namespace halfstep::kernels
)");
  return text.str();
}

}  // namespace halfstep::opgen

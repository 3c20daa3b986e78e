// Kernels of pointwise operators: function objects from `compute`, and the instances in
// halfstep/engine/kernels/pointwise/.
#include <algorithm>

#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/scalar.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

std::vector<const Record*> pointwise(const Records& records) {
  std::vector<const Record*> list = by_name(records);
  std::erase_if(list, [](const Record* record) { return !record->compute; });
  return list;
}

/// Operands as parameters. Operands that the expression does not read have no name.
std::string parameters(const Record& record, const std::string& type) {
  std::vector<std::string> list;
  for (const Port& port : record.inputs) {
    bool used = false;
    walk(record.compute->expr, [&](const Expr& part) { used = used || part.is_name(port.name); });
    list.push_back(used ? type + " " + cpp_name(port.name) : type);
  }
  return join(list, ", ");
}

bool reads_attributes(const Record& record) {
  bool reads = false;
  walk(record.compute->expr, [&](const Expr& part) {
    reads = reads || (part.is(Expr::Kind::name) && record.attribute(part.text) != nullptr);
  });
  return reads;
}

void write_loop(Text& text, const Record& record) {
  const bool reads = reads_attributes(record);
  text.line("void {}(const void*{}, const Row<{}>& row) {{", cpp_name(record.name), reads ? " function" : "",
            record.inputs.size());
  if (reads)
    text.line("  const auto& f = *static_cast<const arith::functions::{}*>(function);", pascal_case(record.name));
  text.line("  map(row, [{}]({}) HWY_ATTR {{", reads ? "&f" : "",
            "[[maybe_unused]] Tag d, " + parameters(record, "Vector"));
  text.line("    return {};", simd_cpp(record.compute->expr, record));
  text.line("  }});");
  text.line("}}");
}

/// Whether vector code produces the same bits as scalar code.
bool is_exact(const Record& record) {
  bool approximates = false;
  walk(record.compute->expr, [&](const Expr& part) { approximates = approximates || is_approximated(part); });
  return !approximates;
}

/// Returns the synthesized gradient of a unary operator, or null.
const Record* slope_of(const Record& record, const Records& records) {
  if (record.gradient.inputs.size() != 1) return nullptr;
  const Expr& call = record.gradient.inputs[0].expr;
  const Record* gradient = call.is(Expr::Kind::call) ? find(records, call.text) : nullptr;
  return gradient != nullptr && gradient->compute && gradient->name == record.name + "_grad_" + record.inputs[0].name
             ? gradient
             : nullptr;
}

void write_slope(Text& text, const Record& record, const Record& gradient) {
  std::vector<std::string> args;
  bool reads = false;  // false for neg, for instance, whose gradient reads only the output gradient
  for (const Port& port : gradient.inputs) {
    const bool is_output = record.output(port.name) != nullptr;
    reads = reads || is_output || record.input(port.name) != nullptr;
    args.push_back(record.input(port.name) != nullptr ? "x"
                   : is_output                        ? record.name + "_value(x, attributes)"
                                                      : "1.0");
  }
  text.line("double {}_slope(double{}, const Attributes& attributes) {{", record.name, reads ? " x" : "");
  text.line("  return functions::{}(attributes)({});", pascal_case(gradient.name), join(args, ", "));
  text.line("}}");
}

/// Returns the member of `Elements` in halfstep/engine/kernels/elementwise/driver.h for the dtypes of the first input.
const char* elements_of(const Record& record) {
  const TypeSpec& type = record.inputs[0].type;
  const auto declared = record.type_variables.find(type.name);
  const auto& dtypes = declared != record.type_variables.end() ? declared->second.dtypes : type.type_class.dtypes;
  const auto holds = [&dtypes](DType dtype) { return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end(); };
  return holds(DType::u8) ? "numbers" : holds(DType::i8) ? "signed_numbers" : "floats";
}

}  // namespace

std::string emit_pointwise_functions(const Records& records) {
  Text text;
  text.add(generated_by("Pointwise operators as function objects."));
  text.line("#pragma once\n");
  text.line("#include <limits>\n");
  text.line("#include \"halfstep/core/arith/scalar.h\"");
  text.line("#include \"halfstep/core/base/attribute.h\"\n");
  text.line("namespace halfstep::arith::functions {{");
  for (const Record* record : pointwise(records)) {
    const std::string type = pascal_case(record->name);
    text.line("\n/// {}", record->compute->text);
    text.line("struct {} {{", type);
    text.add(attribute_members(*record));
    text.line("  template <class T>");
    text.line("  T operator()({}) const {{", parameters(*record, "T"));
    text.line("    return {};", scalar_cpp(record->compute->expr, *record));
    text.line("  }}");
    text.line("}};");
  }
  text.line("\n}}  // namespace halfstep::arith::functions");
  return text.str();
}

std::string emit_pointwise_kernels(const Records& records) {
  Text text;
  text.add(generated_by("Kernels of pointwise operators."));
  text.add(R"(#define HS_LEVEL_SOURCE "halfstep/engine/kernels/pointwise.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include "halfstep/core/arith/pointwise_functions.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/elementwise/driver.h"
#include "halfstep/engine/kernels/elementwise/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::elementwise::HWY_NAMESPACE {
)");
  for (const Record* record : pointwise(records)) {
    text.blank();
    write_loop(text, *record);
  }
  text.add(R"(
}  // namespace halfstep::kernels::elementwise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace elementwise {
namespace {

)");
  for (const Record* record : pointwise(records))
    text.line("RowLoop<{}> choose_{}(CpuLevel level) {{ return HS_SIMD_CHOOSE(level, {}); }}", record->inputs.size(),
              record->name, cpp_name(record->name));
  text.line("\n}}  // namespace\n}}  // namespace elementwise");
  for (const Record* record : pointwise(records)) {
    const std::string function = "arith::functions::" + pascal_case(record->name);
    const size_t operands = record->inputs.size();
    text.line("\nconst Kernel reference_{} = elementwise::reference<{}, {}, elementwise::Elements::{}>();",
              record->name, function, operands, elements_of(*record));
    text.line("const Kernel cpu_{}_simd = elementwise::simd<{}, {}, elementwise::choose_{}, {}>();", record->name,
              function, operands, record->name, is_exact(*record));
  }
  text.line("\n}}  // namespace halfstep::kernels\n#endif");
  return text.str();
}

std::string emit_function_table(const Records& records) {
  Text text;
  text.add(generated_by("Unary pointwise operators as plain functions."));
  text.line("#include <algorithm>\n#include <array>\n");
  text.line("#include \"halfstep/core/arith/scalar_functions.h\"");
  text.line("#include \"halfstep/core/arith/pointwise_functions.h\"\n");
  text.line("namespace halfstep::arith {{");
  text.line("namespace {{\n");
  std::vector<std::string> rows;
  for (const Record* record : pointwise(records)) {
    if (record->inputs.size() != 1) continue;
    text.line("double {}_value(double x, const Attributes& attributes) {{ return functions::{}(attributes)(x); }}",
              record->name, pascal_case(record->name));
    const Record* gradient = slope_of(*record, records);
    if (gradient != nullptr) write_slope(text, *record, *gradient);
    text.blank();
    rows.push_back(fmt::format("    {{{}, {{{}_value, {}}}}},", string_literal(record->name), record->name,
                               gradient != nullptr ? record->name + "_slope" : "nullptr"));
  }
  text.line("struct Row {{\n  std::string_view op;\n  PointwiseFunction function;\n}};");
  text.line("constexpr std::array<Row, {}> kRows = {{{{", rows.size());
  for (const std::string& row : rows) text.line("{}", row);
  text.line("}}}};");
  text.add(R"(
}  // namespace

const PointwiseFunction* find_function(std::string_view op) {
  const auto found = std::find_if(kRows.begin(), kRows.end(), [op](const Row& row) { return row.op == op; });
  return found != kRows.end() ? &found->function : nullptr;
}

}  // namespace halfstep::arith
)");
  return text.str();
}

}  // namespace halfstep::opgen

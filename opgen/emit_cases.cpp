// tests/op_cases.cpp: the `test:` blocks as a table.
#include <algorithm>

#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

std::string type_cpp(const std::pair<DType, std::vector<int64_t>>& type) {
  return "Type{" + dtype_cpp(type.first) + ", " + initializer_cpp(type.second) + "}";
}

std::string case_cpp(const Case& one, const Record& record) {
  std::vector<std::string> operands, attributes;
  for (const Port& port : record.inputs) {
    const auto found = one.inputs.find(port.name);
    if (found == one.inputs.end()) {
      if (!port.variadic) operands.emplace_back("std::nullopt");
      continue;
    }
    for (const auto& type : found->second) operands.push_back(type_cpp(type));
  }
  for (const auto& [name, value] : one.attributes)
    attributes.push_back("{" + quoted(name) + ", " + attribute_cpp(value) + "}");
  return "{{" + join(operands, ", ") + "}, {" + join(attributes, ", ") + "}}";
}

void write_numbers(Text& text, const char* field, const std::map<std::string, std::vector<double>>& numbers) {
  if (numbers.empty()) return;
  std::vector<std::string> entries;
  for (const auto& [port, values] : numbers)
    entries.push_back("{" + quoted(port) + ", " + initializer_cpp(values) + "}");
  text.line("  test.{} = {{{}}};", field, join(entries, ", "));
}

void write_test(Text& text, const Record& record) {
  const Test& test = *record.test;
  text.line("OpTest {}_test() {{", record.name);
  text.line("  OpTest test;");
  text.line("  test.op = {};", quoted(record.name));
  text.line("  test.cases = {{");
  for (const Case& one : test.cases) text.line("      {},", case_cpp(one, record));
  text.line("  }};");
  write_numbers(text, "domain", test.domain);
  write_numbers(text, "special", test.special);
  write_numbers(text, "values", test.values);
  if (test.tolerance) text.line("  test.tolerance = {};", double_cpp(*test.tolerance));
  for (const std::string& condition : test.bitwise) text.line("  test.{} = true;", condition);
  if (!test.gradient) text.line("  test.no_gradient_check = {};", quoted(test.gradient_why));
  if (!test.rejects.empty()) {
    text.line("  test.rejects = {{");
    for (const auto& [rule, refused] : test.rejects)
      text.line("      {{{}, {}}},", quoted(rule), case_cpp(refused, record));
    text.line("  }};");
  }
  text.line("  return test;");
  text.line("}}\n");
}

}  // namespace

std::string emit_op_cases(const Records& records) {
  std::vector<const Record*> tested = by_name(records);
  std::erase_if(tested, [](const Record* record) { return !record->test; });
  Text text;
  text.add(generated_by("Conformance cases of all operators."));
  text.line("#include \"halfstep/verify/op_case.h\"\n");
  text.line("#include <limits>\n");
  text.line("namespace halfstep::verify {{");
  text.line("namespace {{\n");
  for (const Record* record : tested) write_test(text, *record);
  text.line("}}  // namespace\n");
  text.line("std::span<const OpTest> op_tests() {{");
  text.line("  static const std::vector<OpTest> tests = {{");
  for (const Record* record : tested) text.line("      {}_test(),", record->name);
  text.line("  }};");
  text.line("  return tests;");
  text.line("}}\n");
  text.line("}}  // namespace halfstep::verify");
  return text.str();
}

}  // namespace halfstep::opgen

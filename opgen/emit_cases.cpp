// tests/op_cases.cpp: the `test:` blocks as texts for halfstep/verify/operators/op_case.cpp.
#include "halfstep/core/base/shape.h"
#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

std::string list_text(const std::vector<std::pair<DType, std::vector<int64_t>>>& types) {
  std::vector<std::string> all;
  for (const auto& [dtype, dims] : types) all.push_back(halfstep::to_string(Type{dtype, dims}));
  return "[" + join(all, ", ") + "]";
}

/// Returns a text such as "x=f32[3, 65] axis=1".
std::string use_text(const Case& one, const Record& record) {
  std::vector<std::string> parts;
  for (const Port& port : record.inputs) {
    const auto found = one.inputs.find(port.name);
    if (found == one.inputs.end()) continue;
    const std::string all = list_text(found->second);
    parts.push_back(port.name + "=" + (port.variadic ? all : all.substr(1, all.size() - 2)));
  }
  for (const auto& [name, value] : one.attributes) parts.push_back(name + "=" + halfstep::to_string(value));
  return join(parts, " ");
}

void write_numbers(Text& text, const char* word, const std::map<std::string, std::vector<double>>& numbers) {
  for (const auto& [port, values] : numbers) text.line("{} {}={}", word, port, halfstep::to_string(Attribute(values)));
}

void write_test(Text& text, const Record& record) {
  const Test& test = *record.test;
  text.line("    R\"({}", record.name);
  for (const Case& one : test.cases) text.line("case {}", use_text(one, record));
  write_numbers(text, "domain", test.domain);
  write_numbers(text, "special", test.special);
  write_numbers(text, "values", test.values);
  if (test.tolerance) text.line("tolerance {}", halfstep::to_string(Attribute(*test.tolerance)));
  for (const std::string& condition : test.bitwise) text.line("same_bits {}", condition);
  if (!record.gradient.why_none.empty())
    text.line("without_gradient {}", halfstep::to_string(Attribute(record.gradient.why_none)));
  if (!test.gradient) text.line("no_gradient {}", halfstep::to_string(Attribute(test.gradient_why)));
  for (const auto& [rule, refused] : test.rejects) text.line("reject {} {}", rule, use_text(refused, record));
  text.line(")\",");
}

}  // namespace

std::string emit_op_cases(const Records& records) {
  Text text;
  text.add(generated_by("Conformance cases of all operators."));
  text.line("#include \"halfstep/verify/operators/op_case.h\"\n");
  text.line("namespace halfstep::verify {{\n");
  text.line("std::span<const std::string_view> op_test_texts() {{");
  text.line("  static constexpr std::string_view kTexts[] = {{");
  for (const Record* record : by_name(records)) {
    if (record->test) write_test(text, *record);
  }
  text.line("  }};");
  text.line("  return kTexts;");
  text.line("}}\n");
  text.line("}}  // namespace halfstep::verify");
  return text.str();
}

}  // namespace halfstep::opgen

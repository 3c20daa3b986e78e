// halfstep/core/ir/ops.h and its sources: typed views, builder functions, OpInfo.
#include <algorithm>
#include <map>

#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/presence.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

void write_accessors(Text& text, const Record& record) {
  for (size_t i = 0; i < record.inputs.size(); ++i) {
    const Port& port = record.inputs[i];
    if (port.variadic) {
      text.line("  std::vector<Value> {}() const {{ return variadic(); }}", cpp_name(port.name));
    } else {
      text.line("  Value {}() const {{ return Op::in({}); }}", cpp_name(port.name), i);
    }
  }
  for (size_t i = 0; i < record.outputs.size(); ++i) {
    const std::string name = cpp_name(record.outputs[i].name);
    if (record.outputs[i].variadic) {
      text.line("  std::vector<Value> {}() const {{ return results(); }}", name);
    } else {
      text.line("  Value {}() const {{ return Op::out({}); }}", name, i);
    }
  }
  for (const AttributeSpec& spec : record.attributes)
    text.line("  {} {}() const {{ return get<{}>(attributes(), {}); }}", attribute_reference_cpp(spec.value),
              cpp_name(spec.name), attribute_type_cpp(spec.value), string_literal(spec.name));
}

void write_args(Text& text, const Record& record) {
  text.line("  struct Args {{");
  for (const Port& port : record.inputs) {
    if (port.variadic) {
      text.line("    std::vector<Value> {};", cpp_name(port.name));
    } else {
      text.line("    Value {}{};", cpp_name(port.name), port.always_there() ? "" : " = {}");
    }
  }
  for (const AttributeSpec& spec : record.attributes)
    text.line("    {} {}{};", attribute_type_cpp(spec.value), cpp_name(spec.name),
              spec.required ? "" : " = " + initializer_cpp(spec.value));
  text.line("    std::string name = {{}};  ///< a hint, made unique");
  text.line("  }};");
}

void write_view(Text& text, const Record& record) {
  const std::string view = pascal_case(record.name);
  std::string doc = record.doc;
  std::replace(doc.begin(), doc.end(), '\n', ' ');
  text.line("/// {}", doc);
  text.line("class {} : public Op {{", view);
  text.line(" public:");
  text.line("  static const OpInfo& record();");
  text.line("  {}() = default;", view);
  text.line("  explicit {}(detail::OpNode* node) : Op(node) {{}}", view);
  write_accessors(text, record);
  text.blank();
  write_args(text, record);
  text.line("}};");
  text.line("{} {}(Builder& builder, {}::Args args);", view, cpp_name(record.name), view);
  text.blank();
}

void write_builder(Text& text, const Record& record) {
  const std::string view = pascal_case(record.name);
  std::vector<std::string> operands, attributes;
  std::string rest;
  for (const Port& port : record.inputs) {
    if (port.variadic) {
      rest = ", args." + cpp_name(port.name);
    } else {
      operands.push_back("args." + cpp_name(port.name));
    }
  }
  for (const AttributeSpec& spec : record.attributes) {
    attributes.push_back("{" + string_literal(spec.name) + ", args." + cpp_name(spec.name) + "}");
  }
  text.line("const OpInfo& {}::record() {{ return all_operators()[records::k{}]; }}", view, view);
  text.line("{} {}(Builder& builder, {}::Args args) {{", view, cpp_name(record.name), view);
  text.line("  const Op op = builder.insert({}::record(), {{{}}}, {{{}}}, args.name{});", view, join(operands, ", "),
            join(attributes, ", "), rest);
  text.line("  return {}(op.node());", view);
  text.line("}}");
}

/// Writes functions such as bool unless_is_test(const Attributes&), once for each condition.
void write_presence_functions(Text& text, const Records& records) {
  std::map<std::string, std::string> functions;
  for (const Record& record : records) {
    for (const auto* ports : {&record.inputs, &record.outputs}) {
      for (const Port& port : *ports) {
        if (port.condition) functions[condition_name(*port.condition)] = condition_cpp(*port.condition, record);
      }
    }
  }
  for (const auto& [name, condition] : functions)
    text.line("inline bool unless_{}(const Attributes& attributes) {{ return !({}); }}", name, condition);
}

OutputFile write_source(const std::string& stem, const std::vector<const Record*>& records) {
  Text text;
  text.add(generated_by("Operators of " + records[0]->source.file + "."));
  text.line("#include \"halfstep/core/ir/ops.h\"");
  text.line("#include \"halfstep/core/ir/ops_records.h\"");
  text.line("#include \"halfstep/core/ir/shapes/shape_functions.h\"");
  text.line("\nnamespace halfstep::ops {{");
  text.line("namespace {{");
  for (const Record* record : records) {
    text.blank();
    text.add(infer_function(*record));
    if (record->flops) text.add("\n" + flops_function(*record));
  }
  text.line("\n}}  // namespace");
  for (const Record* record : records) {
    text.blank();
    text.add(operator_record(*record));
    text.blank();
    write_builder(text, *record);
  }
  text.line("\n}}  // namespace halfstep::ops");
  return {"halfstep/core/ir/ops_" + stem + ".cpp", text.str()};
}

}  // namespace

std::string emit_ops_header(const Records& records) {
  Text text;
  text.add(generated_by("Typed views of all operators, and the functions that build them."));
  text.line("#pragma once\n");
  text.line("#include <limits>\n#include <string>\n#include <vector>\n");
  text.line("#include \"halfstep/core/ir/graph.h\"\n");
  text.line("namespace halfstep::ops {{\n");
  for (const Record* record : by_name(records)) write_view(text, *record);
  text.line("}}  // namespace halfstep::ops");
  return text.str();
}

std::string emit_ops_records(const Records& records) {
  Text text;
  text.add(generated_by("Positions in all_operators(), its records, and their shared parts."));
  text.line("#pragma once\n");
  text.line("#include <cstddef>\n");
  text.line("#include \"halfstep/core/ir/op_record.h\"");
  text.line("#include \"halfstep/core/ir/shapes/infer.h\"\n");
  text.line("namespace halfstep::ops::records {{\n");
  size_t position = 0;
  for (const Record* record : by_name(records))
    text.line("inline constexpr size_t k{} = {};", pascal_case(record->name), position++);
  text.blank();
  for (const Record* record : by_name(records)) text.line("extern const OpRecord {};", cpp_name(record->name));
  text.line("\n}}  // namespace halfstep::ops::records\n");
  text.line("namespace halfstep::ops::classes {{\n");
  text.add(type_class_constants(records));
  text.line("\n}}  // namespace halfstep::ops::classes\n");
  text.line("namespace halfstep::ops::presence {{\n");
  write_presence_functions(text, records);
  text.line("\n}}  // namespace halfstep::ops::presence");
  return text.str();
}

std::vector<OutputFile> emit_ops_sources(const Records& records) {
  std::map<std::string, std::vector<const Record*>> by_file;
  for (const Record& record : records) by_file[record.file_stem].push_back(&record);
  std::vector<OutputFile> files;
  for (const auto& [stem, list] : by_file) files.push_back(write_source(stem, list));
  return files;
}

std::string emit_ops_table(const Records& records) {
  std::map<std::pair<std::string, std::string>, std::string> foreign;
  for (const Record& record : records) {
    for (const Foreign& name : record.foreign) foreign[{name.format, name.op}] = pascal_case(record.name);
  }
  Text text;
  text.add(generated_by("The table of all operators."));
  text.line("#include <algorithm>\n#include <array>\n");
  text.line("#include \"halfstep/core/ir/ops_records.h\"\n");
  text.line("namespace halfstep {{");
  text.line("namespace {{\n");
  text.line("constexpr std::array<const ops::OpRecord*, {}> kRecords = {{{{", records.size());
  for (const Record* record : by_name(records)) text.line("    &ops::records::{},", cpp_name(record->name));
  text.line("}}}};\n");
  text.line("/// In the order of format and name.");
  text.line("struct ForeignName {{\n  std::string_view format, op;\n  size_t position;\n}};");
  text.line("constexpr std::array<ForeignName, {}> kForeign = {{{{", foreign.size());
  for (const auto& [name, view] : foreign)
    text.line("    {{{}, {}, ops::records::k{}}},", string_literal(name.first), string_literal(name.second), view);
  text.line("}}}};");
  text.add(R"(
}  // namespace

std::span<const OpInfo> all_operators() {
  static const std::vector<OpInfo> kOperators = [] {
    std::vector<OpInfo> list;
    list.reserve(kRecords.size());
    for (const ops::OpRecord* record : kRecords) list.push_back(ops::info_of(*record));
    return list;
  }();
  return kOperators;
}

const OpInfo* find_operator(std::string_view name) {
  const auto all = all_operators();
  const auto found = std::lower_bound(all.begin(), all.end(), name, [](const OpInfo& info, std::string_view n) { return info.name < n; });
  return found != all.end() && found->name == name ? &*found : nullptr;
}

const OpInfo* find_foreign_operator(std::string_view format, std::string_view foreign_name) {
  const auto found = std::find_if(kForeign.begin(), kForeign.end(), [&](const ForeignName& entry) {
    return entry.format == format && entry.op == foreign_name;
  });
  return found != kForeign.end() ? &all_operators()[found->position] : nullptr;
}

}  // namespace halfstep
)");
  return text.str();
}

}  // namespace halfstep::opgen

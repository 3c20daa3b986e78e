// halfstep/core/ir/ops.h and its sources: typed views, builder functions, OpInfo.
#include <algorithm>
#include <map>

#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/presence.h"
#include "opgen/scalar.h"
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
      rest = "args." + cpp_name(port.name);
    } else {
      operands.push_back("args." + cpp_name(port.name));
    }
  }
  for (const AttributeSpec& spec : record.attributes) {
    const bool moves = attribute_type_cpp(spec.value).starts_with("std::");
    const std::string value = "args." + cpp_name(spec.name);
    attributes.push_back("{" + string_literal(spec.name) + ", " + (moves ? "std::move(" + value + ")" : value) + "}");
  }
  text.line("const OpInfo& {}::record() {{ return all_operators()[records::k{}]; }}", view, view);
  text.line("{} {}(Builder& builder, {}::Args args) {{", view, cpp_name(record.name), view);
  text.line("  std::vector<Value> operands = {{{}}};", join(operands, ", "));
  if (!rest.empty()) text.line("  operands.insert(operands.end(), {}.begin(), {}.end());", rest, rest);
  text.line("  Attributes attributes = {{{}}};", join(attributes, ", "));
  text.line(
      "  const Op op = builder.insert({{&{}::record(), std::move(operands), std::move(attributes), "
      "std::move(args.name), {{}}}});",
      view);
  text.line("  return {}(op.node());", view);
  text.line("}}");
}

std::string presence_cpp(const Port& port) {
  return port.condition ? "presence::unless_" + condition_name(*port.condition) : "nullptr";
}

/// "float", "u8 or i8": the element types that a port may have.
std::string port_class(const Port& port, const Record& record) {
  if (port.type.kind == TypeSpec::Kind::like) return port_class(*record.input(port.type.name), record);
  if (port.type.kind != TypeSpec::Kind::variable) return type_text(port.type);
  const auto declared = record.type_variables.find(port.type.name);
  return declared == record.type_variables.end() ? "any" : declared->second.name;
}

void write_ports(Text& text, const char* which, const std::vector<Port>& ports, const Record& record) {
  std::vector<std::string> infos, presence;
  for (const Port& port : ports) {
    std::string info = ".name = " + string_literal(port.name) + ", .type = " + string_literal(port_class(port, record));
    if (port.optional) info += ", .optional = true";
    if (port.variadic) info += ", .variadic = true";
    if (!port.state_of.empty())
      info += fmt::format(", .state_of = {}", record.input(port.state_of) - record.inputs.data());
    if (port.condition) info += ", .unless = " + string_literal(port.unless);
    infos.push_back("{" + info + "}");
    presence.push_back(presence_cpp(port));
  }
  text.line("  info.{}puts = {{{}}};", which, join(infos, ", "));
  text.line("  info.{}put_present = {{{}}};", which, join(presence, ", "));
}

void write_attributes(Text& text, const Record& record) {
  if (record.attributes.empty()) return;
  text.line("  info.attributes = {{");
  for (const AttributeSpec& spec : record.attributes) {
    std::vector<std::string> choices;
    for (const std::string& choice : spec.choices) choices.push_back(string_literal(choice));
    text.line("      {{.name = {}, .default_value = {}{}{}}},", string_literal(spec.name), attribute_cpp(spec.value),
              spec.required ? ", .required = true" : "",
              choices.empty() ? "" : ", .choices = {" + join(choices, ", ") + "}");
  }
  text.line("  }};");
}

void write_quant(Text& text, const Record& record) {
  if (!record.quant) return;
  const Quant& quant = *record.quant;
  const auto port = [&record](const std::string& name) { return record.input(name) - record.inputs.data(); };
  const auto assign = [&text](const char* field, const std::string& value) {
    text.line("  info.quant.{} = {};", field, value);
  };
  assign("trait", "Trait::" + quant.trait);
  if (!quant.accumulates.empty()) assign("accumulates", "Accumulation::" + quant.accumulates);
  if (!quant.weight.empty()) assign("weight", std::to_string(port(quant.weight)));
  if (!quant.weight.empty()) assign("weight_axis", std::to_string(quant.axis));
  if (!quant.factor.empty()) assign("factor", std::to_string(port(quant.factor)));
  if (!quant.bias.empty()) assign("bias", std::to_string(port(quant.bias)));
  if (!quant.fill.empty()) assign("fill", std::to_string(port(quant.fill)));
  if (!quant.index.empty()) assign("index", std::to_string(port(quant.index)));
  if (!quant.magnitude.empty()) assign("magnitude", std::to_string(port(quant.magnitude)));
  if (!quant.quantized.empty()) assign("quantized", string_literal(quant.quantized));
  if (!quant.integer.empty()) assign("integer", string_literal(quant.integer));
  if (!quant.activation.empty()) assign("activation", string_literal(quant.activation));
  if (quant.lookup) assign("lookup", "true");
}

std::string foreign_values(const char* field, const std::vector<std::pair<std::string, Attribute>>& values) {
  std::vector<std::string> parts;
  for (const auto& [ours, value] : values)
    parts.push_back("{" + string_literal(ours) + ", " + attribute_cpp(value) + "}");
  return parts.empty() ? "" : fmt::format(", .{} = {{{}}}", field, join(parts, ", "));
}

/// What only some foreign names have.
std::string foreign_details(const Foreign& foreign) {
  std::vector<std::string> inputs;
  for (const auto& [ours, position] : foreign.inputs)
    inputs.push_back(fmt::format("{{{}, {}}}", string_literal(ours), position));
  std::string text = inputs.empty() ? "" : ", .inputs = {" + join(inputs, ", ") + "}";
  text += foreign_values("fixed", foreign.fixed) + foreign_values("defaults", foreign.defaults);
  if (!foreign.domain.empty()) text += ", .domain = " + string_literal(foreign.domain);
  if (foreign.since != 1) text += fmt::format(", .since = {}", foreign.since);
  if (foreign.until) text += fmt::format(", .until = {}", *foreign.until);
  return text;
}

void write_foreign(Text& text, const Record& record) {
  if (record.foreign.empty()) return;
  text.line("  info.foreign = {{");
  for (const Foreign& foreign : record.foreign) {
    std::vector<std::string> names;
    for (const auto& [ours, theirs] : foreign.names)
      names.push_back("{" + string_literal(ours) + ", " + string_literal(theirs) + "}");
    text.line("      {{.format = {}, .op = {}, .names = {{{}}}{}}},", string_literal(foreign.format),
              string_literal(foreign.op), join(names, ", "), foreign_details(foreign));
  }
  text.line("  }};");
}

void write_record(Text& text, const Record& record) {
  static constexpr const char* kRules[] = {"none", "derivative", "straight_through"};
  std::vector<std::string> regions;
  for (const std::string& region : record.regions) regions.push_back(string_literal(region));
  text.line("OpInfo records::{}() {{", cpp_name(record.name));
  text.line("  OpInfo info;");
  text.line("  info.name = {};", string_literal(record.name));
  text.line("  info.doc = {};", string_literal(record.doc));
  text.line("  info.record = {};", string_literal(record_place(record)));
  write_ports(text, "in", record.inputs, record);
  write_ports(text, "out", record.outputs, record);
  if (!regions.empty()) text.line("  info.regions = {{{}}};", join(regions, ", "));
  if (!record.flow.empty()) text.line("  info.flow = Flow::{};", record.flow);
  write_attributes(text, record);
  text.line("  info.infer = infer_{};", record.name);
  if (record.flops) text.line("  info.flops = flops_{};", record.name);
  if (record.gradient.rule != Gradient::Rule::none)
    text.line("  info.gradient = GradientKind::{};", kRules[static_cast<size_t>(record.gradient.rule)]);
  if (record.is_elementwise()) text.line("  info.elementwise = true;");
  if (record.compute) text.line("  info.c_expression = {};", string_literal(scalar_c(record.compute->expr, record)));
  if (record.has_codes()) text.line("  info.codes = true;");
  write_quant(text, record);
  write_foreign(text, record);
  text.line("  return info;");
  text.line("}}");
}

/// bool unless_is_test(const Attributes&) and the like, once each.
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
    write_record(text, *record);
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
  text.add(generated_by("Positions in all_operators(), the functions that fill it, and what these share."));
  text.line("#pragma once\n");
  text.line("#include <cstddef>\n");
  text.line("#include \"halfstep/core/ir/shapes/infer.h\"\n");
  text.line("namespace halfstep::ops::records {{\n");
  size_t position = 0;
  for (const Record* record : by_name(records))
    text.line("inline constexpr size_t k{} = {};", pascal_case(record->name), position++);
  text.blank();
  for (const Record* record : by_name(records)) text.line("OpInfo {}();", cpp_name(record->name));
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
  text.line("using Record = OpInfo (*)();");
  text.line("constexpr std::array<Record, {}> kRecords = {{{{", records.size());
  for (const Record* record : by_name(records)) text.line("    ops::records::{},", cpp_name(record->name));
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
    for (const Record record : kRecords) list.push_back(record());
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

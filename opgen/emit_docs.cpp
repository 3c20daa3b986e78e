// docs/operators.md: reference of all operators.
#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

void describe_ports(Text& text, const char* title, const std::vector<Port>& ports) {
  for (const Port& port : ports) text.line("| {} | `{}` | {} |", title, port.name, port_text(port));
}

void describe_attributes(Text& text, const Record& record) {
  for (const AttributeSpec& spec : record.attributes) {
    std::string value =
        spec.required ? std::string(type_name(spec.value)) + ", required" : "`" + halfstep::to_string(spec.value) + "`";
    if (!spec.choices.empty()) value += " of " + join(spec.choices, ", ");
    if (!spec.doc.empty()) value += ". " + spec.doc;
    text.line("| attribute | `{}` | {} |", spec.name, value);
  }
}

void describe_gradient(Text& text, const Record& record) {
  const Gradient& gradient = record.gradient;
  if (record.has_gradient_of_regions()) {
    text.line("Gradient: computed from the gradients of its regions.\n");
    return;
  }
  if (gradient.rule == Gradient::Rule::none) {
    text.line("Gradient: none{}.\n", gradient.why_none.empty() ? "" : ", " + gradient.why_none);
    return;
  }
  text.line("Gradient ({}{}):\n", gradient.rule == Gradient::Rule::derivative ? "true derivative" : "straight-through",
            gradient.unless.empty() ? "" : ", none when " + gradient.unless + " is true");
  for (const NamedExpr& input : gradient.inputs) text.line("- `{}`: `{}`", input.name, input.text);
  text.blank();
}

void describe_foreign(Text& text, const Record& record) {
  for (const Foreign& foreign : record.foreign) {
    text.line("- {} `{}`{}: {}", foreign.format, foreign.op, foreign_versions(foreign), foreign_names(foreign));
  }
  if (!record.foreign.empty()) text.blank();
}

void describe_kernels(Text& text, const Record& record) {
  std::vector<std::string> cpu = record.cpu_kernels;
  if (record.compute) cpu.emplace_back("simd");
  cpu.emplace_back("reference");
  text.line("Kernels: cpu {}{}.\n", join(cpu, ", "),
            record.cuda_kernels.empty() ? "" : "; cuda " + join(record.cuda_kernels, ", "));
}

void write_operator(Text& text, const Record& record) {
  text.line("## {}\n", record.name);
  text.line("{} ({})\n", record.doc, record_place(record));
  text.line("| | name | |\n| --- | --- | --- |");
  describe_ports(text, "in", record.inputs);
  describe_attributes(text, record);
  describe_ports(text, "out", record.outputs);
  text.blank();
  if (record.compute) text.line("Computes `{}`.\n", record.compute->text);
  if (record.flops) text.line("Operations: `{}`.\n", record.flops->text);
  for (const NamedExpr& let : record.lets) text.line("- {} = `{}`", let.name, let.text);
  for (const NamedExpr& rule : record.rules) text.line("- rule {}: `{}`", rule.name, rule.text);
  if (!record.lets.empty() || !record.rules.empty()) text.blank();
  describe_gradient(text, record);
  describe_kernels(text, record);
  describe_foreign(text, record);
}

}  // namespace

std::string type_text(const TypeSpec& type) {
  switch (type.kind) {
    case TypeSpec::Kind::classed: return type.type_class.name;
    case TypeSpec::Kind::variable: return type.name;
    case TypeSpec::Kind::attribute: return "dtype of " + type.name;
    case TypeSpec::Kind::like: return "like " + type.name;
    case TypeSpec::Kind::first: break;
  }
  std::vector<std::string> choices;
  for (const TypeSpec& choice : type.choices) choices.push_back(type_text(choice));
  return join(choices, ", else ");
}

std::string port_text(const Port& port) {
  std::string text = type_text(port.type);
  const bool same = port.type.kind == TypeSpec::Kind::like && port.dims && port.dims->like;
  if (port.dims && !same) {
    if (port.dims->like)
      text += ", dims of " + port.dims->name;
    else if (port.dims->function)
      text += ", dims " + port.dims->texts[0];
    else
      text += "[" + join(port.dims->texts, ", ") + (port.dims->open ? ", ...]" : "]");
  }
  if (port.variadic) text += ", any number";
  if (port.optional) text += ", optional";
  if (!port.unless.empty()) text += ", unless " + port.unless;
  if (!port.state_of.empty()) text += ", next value of " + port.state_of;
  return text;
}

std::string foreign_versions(const Foreign& foreign) {
  std::string text = foreign.domain.empty() ? "" : " of " + foreign.domain;
  if (foreign.since != 1) text += fmt::format(", from {} on", foreign.since);
  if (foreign.until) text += fmt::format(", until {}", *foreign.until);
  return text;
}

std::string foreign_names(const Foreign& foreign) {
  std::vector<std::string> names;
  for (const auto& [ours, theirs] : foreign.names) names.push_back(ours + " = " + theirs);
  for (const auto& [ours, position] : foreign.inputs) names.push_back(fmt::format("{} = input {}", ours, position));
  for (const auto& [ours, value] : foreign.fixed) names.push_back(ours + " is `" + halfstep::to_string(value) + "`");
  for (const auto& [ours, value] : foreign.defaults)
    names.push_back(ours + " is `" + halfstep::to_string(value) + "` when absent");
  return join(names, ", ");
}

std::string emit_docs(const Records& records) {
  Text text;
  text.line("# Operators\n");
  text.line("Written by opgen from the records in ops/.\n");
  for (const Record* record : by_name(records)) write_operator(text, *record);
  return text.str();
}

}  // namespace halfstep::opgen

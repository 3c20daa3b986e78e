#include "opgen/python.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

constexpr size_t kWidth = 100;

/// Python keywords that the records' grammar allows as names.
constexpr std::array kKeywords = {"and",    "as",   "assert", "async",  "await",  "break",   "class",    "continue",
                                  "def",    "del",  "elif",   "else",   "except", "finally", "for",      "from",
                                  "global", "if",   "import", "in",     "is",     "lambda",  "nonlocal", "not",
                                  "or",     "pass", "raise",  "return", "try",    "while",   "with",     "yield"};

std::string element(int64_t value) { return std::to_string(value); }
std::string element(const std::string& value) { return string_literal(value); }
std::string element(double value) {
  if (std::isfinite(value)) return halfstep::to_string(Attribute(value));
  return std::isnan(value) ? "float(\"nan\")" : value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
}

template <class T>
std::string tuple(const std::vector<T>& list) {
  std::vector<std::string> elements;
  for (const T& item : list) elements.push_back(element(item));
  return "(" + join(elements, ", ") + (list.size() == 1 ? ",)" : ")");
}

/// Returns "x, b=None" or, for stubs, "x: Tensor, b: Optional[Tensor] = None".
std::string operand_parameter(const Port& port, std::string type, bool is_left_out) {
  const bool annotated = !type.empty();
  std::string text = python_name(port.name);
  if (annotated) {
    if (port.variadic) type = "Sequence[" + type + "]";
    text += ": " + (is_left_out ? "Optional[" + type + "]" : type);
  }
  if (is_left_out) text += annotated ? " = None" : "=None";
  return text;
}

std::string attribute_parameter(const AttributeSpec& spec, bool annotated) {
  std::string text = python_name(spec.name);
  if (annotated) text += ": " + python_type(spec);
  if (!spec.required) text += (annotated ? " = " : "=") + python_value(spec.value);
  return text;
}

void write_section(Text& text, const char* title) { text.line("\n{}:", title); }

void write_item(Text& text, const std::string& item) { text.add(wrapped(item, "    ", kWidth)); }

void write_arguments(Text& text, const Record& record) {
  if (record.inputs.empty() && record.attributes.empty()) return;
  write_section(text, "Args");
  for (const Port& port : record.inputs) write_item(text, python_name(port.name) + ": " + port_text(port) + ".");
  for (const AttributeSpec& spec : record.attributes) {
    std::string item = fmt::format("{}: {}", python_name(spec.name), type_name(spec.value));
    if (!spec.choices.empty()) item += ", one of " + join(spec.choices, ", ");
    item += spec.required ? ", required." : ", default " + python_value(spec.value) + ".";
    write_item(text, spec.doc.empty() ? item : item + " " + spec.doc);
  }
  for (const auto& [name, type_class] : record.type_variables) {
    std::vector<std::string> dtypes;
    for (const DType dtype : type_class.dtypes) dtypes.emplace_back(halfstep::name(dtype));
    text.line("\n{} is one of {}.", name, join(dtypes, ", "));
  }
}

void write_results(Text& text, const Record& record) {
  write_section(text, "Returns");
  if (record.outputs.size() == 1) {
    write_item(text, record.outputs[0].name + ": " + port_text(record.outputs[0]) + ".");
    return;
  }
  text.line("    The results by name, and in this order:");
  for (const Port& port : record.outputs)
    text.add(wrapped(port.name + ": " + port_text(port) + ".", "        ", kWidth));
}

void write_errors(Text& text, const Record& record) {
  write_section(text, "Raises");
  write_item(text, record.rules.empty() ? "Error: dtypes or dims do not match the above."
                                        : "Error: dtypes or dims do not match the above, or a rule does not hold:");
  for (const NamedExpr& rule : record.rules) text.add(wrapped(rule.name + ": " + rule.text, "        ", kWidth));
  const bool can_lack =
      std::any_of(record.outputs.begin(), record.outputs.end(), [](const Port& port) { return !port.unless.empty(); });
  if (can_lack) text.line("    AbsentResultError: a requested result is disabled by the attributes.");
}

void write_gradient_of(Text& text, const Record& record) {
  const Gradient& gradient = record.gradient;
  if (gradient.rule == Gradient::Rule::none) {
    text.line("\nGradient: none.");
    return;
  }
  text.line("\nGradient ({}{}):", gradient.rule == Gradient::Rule::derivative ? "true derivative" : "straight-through",
            gradient.unless.empty() ? "" : ", none when " + gradient.unless + " is true");
  for (const NamedExpr& input : gradient.inputs) write_item(text, input.name + ": " + input.text);
}

void write_source(Text& text, const Record& record) {
  std::vector<std::string> names;
  for (const Foreign& foreign : record.foreign) names.push_back(foreign.format + " " + foreign.op);
  text.line("");
  text.add(wrapped("Source: " + record_place(record) + (names.empty() ? "" : "; known as " + join(names, ", ")) + ".",
                   "", kWidth));
}

}  // namespace

std::string python_name(const std::string& name) {
  return std::find(kKeywords.begin(), kKeywords.end(), name) == kKeywords.end() ? name : name + "_";
}

std::string python_value(const Attribute& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "True" : "False";
  if (const auto* integer = std::get_if<int64_t>(&value)) return element(*integer);
  if (const auto* real = std::get_if<double>(&value)) return element(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return element(*text);
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) return tuple(*integers);
  if (const auto* floats = std::get_if<std::vector<double>>(&value)) return tuple(*floats);
  return tuple(std::get<std::vector<std::string>>(value));
}

std::string python_type(const AttributeSpec& spec) {
  if (!spec.choices.empty()) {
    std::vector<std::string> choices;
    for (const std::string& choice : spec.choices) choices.push_back(string_literal(choice));
    return "Literal[" + join(choices, ", ") + "]";
  }
  const std::string_view type = type_name(spec.value);
  if (type == "string") return "str";
  if (type == "strings") return "Sequence[str]";
  if (type == "ints") return "Sequence[int]";
  if (type == "floats") return "Sequence[float]";
  return std::string(type);
}

std::string python_parameters(const Record& record, const std::string& first) {
  const bool annotated = !first.empty();
  std::vector<std::string> parameters;
  bool left_out = false;  // Python requires a default for every parameter after one with a default
  for (const Port& port : record.inputs) {
    left_out = left_out || !port.always_there();
    parameters.push_back(operand_parameter(port, parameters.empty() ? first : annotated ? "Tensor" : "", left_out));
  }
  if (!record.attributes.empty()) parameters.emplace_back("*");
  for (const AttributeSpec& spec : record.attributes) parameters.push_back(attribute_parameter(spec, annotated));
  return join(parameters, ", ");
}

std::string python_doc(const Record& record) {
  Text text;
  text.add(wrapped(record.doc, "", kWidth));
  write_arguments(text, record);
  write_results(text, record);
  write_errors(text, record);
  write_gradient_of(text, record);
  write_source(text, record);
  return text.str();
}

std::string python_results_class(const Record& record) { return "_" + pascal_case(record.name) + "Results"; }

std::string wrapped(std::string_view text, const std::string& indent, size_t width) {
  std::string lines, line = indent;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const bool begins = line.find_first_not_of(' ') == std::string::npos;
    if (!begins && line.size() + 1 + word.size() > width) {
      lines += line + "\n";
      line = indent + (indent.empty() ? "" : "    ");
      line += word;
    } else {
      line += (begins ? "" : " ") + std::string(word);
    }
  }
  return lines + line + "\n";
}

}  // namespace halfstep::opgen

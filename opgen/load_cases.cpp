#include <algorithm>
#include <charconv>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "opgen/attribute_value.h"
#include "opgen/load.h"
#include "opgen/presence.h"

namespace halfstep::opgen {
namespace {

using CaseType = std::pair<DType, std::vector<int64_t>>;

/// Dtypes chosen for the type variables of a record in its cases.
using Chosen = std::map<std::string, DType>;

/// Reads "f32[2,3]" or, with a dtype chosen for T, "T[2,3]".
CaseType load_case_type(const Yaml& yaml, const Chosen& chosen) {
  const std::string& text = yaml.text();
  const size_t open = text.find('[');
  const std::string element = text.substr(0, open);
  const auto variable = chosen.find(element);
  const auto dtype = variable != chosen.end() ? std::optional(variable->second) : parse_dtype(element);
  const auto wrong = [&yaml, &text] { fail_at(yaml.source(), "found '{}', expected a type such as f32[2,3]", text); };
  if (!yaml.is_scalar() || !dtype || open == std::string::npos || text.back() != ']') wrong();
  CaseType type{*dtype, {}};
  const char* at = text.data() + open + 1;
  const char* last = text.data() + text.size() - 1;
  while (at < last) {
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(at, last, extent);
    if (error != std::errc() || extent < 0) wrong();
    type.second.push_back(extent);
    at = end;
    if (at < last && *at == ',') ++at;
    while (at < last && *at == ' ') ++at;
  }
  return type;
}

Attribute load_choice(const Yaml& yaml, const AttributeSpec& spec) {
  Attribute value = value_like(yaml, spec.value);
  const auto* text = std::get_if<std::string>(&value);
  if (text != nullptr && !spec.choices.empty() &&
      std::find(spec.choices.begin(), spec.choices.end(), *text) == spec.choices.end())
    fail_at(yaml.source(), "found '{}', expected one of {}{}", *text, fmt::join(spec.choices, ", "),
            did_you_mean(*text, spec.choices));
  return value;
}

std::vector<std::string> input_names(const Record& record) {
  std::vector<std::string> names;
  for (const Port& port : record.inputs) names.push_back(port.name);
  return names;
}

/// Sets the ports and attributes of `yaml` in `one`, overriding existing values.
void load_into(Case& one, const Yaml& yaml, const Record& record, const Chosen& chosen = {}) {
  for (const auto& [key, value] : yaml.items()) {
    if (const Port* port = record.input(key)) {
      std::vector<CaseType>& types = one.inputs[key];
      types.clear();
      if (port->variadic != value.is_list())
        fail_at(value.source(), "found {}, expected {}", value.shape(), port->variadic ? "a list of types" : "a type");
      if (!port->variadic) types.push_back(load_case_type(value, chosen));
      for (const Yaml& element : value.elements()) {
        if (port->variadic) types.push_back(load_case_type(element, chosen));
      }
    } else if (const AttributeSpec* spec = record.attribute(key)) {
      one.attributes[key] = load_choice(value, *spec);
    } else {
      std::vector<std::string> known = input_names(record);
      for (const std::string& name : record.attribute_names()) known.push_back(name);
      fail_at(value.source(), "'{}' is neither an input nor an attribute{}", key, did_you_mean(key, known));
    }
  }
}

/// Checks that all required ports and attributes are present, and no ports that the attributes remove.
void check_complete(const Case& one, const Source& source, const Record& record) {
  for (const Port& port : record.inputs) {
    const bool given = one.inputs.contains(port.name);
    const bool gone = port.condition && holds(*port.condition, one.attributes, record);
    if (given && gone) fail_at(source, "the input {} is not there when {} is true", port.name, port.unless);
    if (!given && !gone && !port.optional && !port.variadic) fail_at(source, "the input {} is missing", port.name);
  }
  for (const AttributeSpec& spec : record.attributes) {
    if (spec.required && !one.attributes.contains(spec.name)) fail_at(source, "the attribute {} is missing", spec.name);
  }
}

std::map<std::string, std::vector<double>> load_numbers(const Yaml& yaml, const char* key, const Record& record) {
  std::map<std::string, std::vector<double>> numbers;
  if (!yaml.has(key)) return numbers;
  for (const auto& [port, list] : yaml.at(key).items()) {
    if (record.input(port) == nullptr)
      fail_at(list.source(), "'{}' is not an input{}", port, did_you_mean(port, input_names(record)));
    for (const Yaml& element : list.elements()) numbers[port].push_back(to_number(element));
  }
  return numbers;
}

/// One combination of the values in `each`.
struct Choice {
  Chosen dtypes;
  Attributes attributes;
};

/// Every combination of dtypes for type variables that `each` does not list.
std::vector<Choice> type_choices(const Yaml& yaml, const Record& record) {
  std::vector<Choice> choices = {{}};
  for (const auto& [variable, type_class] : record.type_variables) {
    if (yaml.has("each") && yaml.at("each").has(variable)) continue;
    std::vector<Choice> longer;
    for (const Choice& choice : choices) {
      for (const DType dtype : type_class.dtypes) longer.emplace_back(choice).dtypes[variable] = dtype;
    }
    choices = std::move(longer);
  }
  return choices;
}

/// Extends `choices` by every combination of the values in `each`. The last key changes fastest.
std::vector<Choice> load_choices(std::vector<Choice> choices, const Yaml& yaml, const Record& record) {
  for (const auto& [key, list] : yaml.items()) {
    const AttributeSpec* spec = record.attribute(key);
    std::vector<Choice> longer;
    for (const Choice& choice : choices) {
      for (const Yaml& element : list.elements()) {
        Choice& next = longer.emplace_back(choice);
        if (spec != nullptr) {
          next.attributes[key] = load_choice(element, *spec);
        } else if (const auto dtype = parse_dtype(element.text())) {
          next.dtypes[key] = *dtype;
        } else {
          fail_at(element.source(), "found '{}', expected a dtype for {}, which is not an attribute", element.text(),
                  key);
        }
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

/// Adds the case for every choice, on top of the common values. Attributes set by the case itself do not vary.
void add_cases(Test& test, const Yaml& yaml, const std::optional<Yaml>& given, const std::vector<Choice>& choices,
               const Record& record) {
  const auto is_new = [&test, first = test.cases.size()](const Case& one) {
    return std::find(test.cases.begin() + static_cast<std::ptrdiff_t>(first), test.cases.end(), one) ==
           test.cases.end();
  };
  for (const Choice& choice : choices) {
    Case one;
    one.attributes = choice.attributes;
    if (given) load_into(one, *given, record, choice.dtypes);
    load_into(one, yaml, record, choice.dtypes);
    check_complete(one, yaml.source(), record);
    if (is_new(one)) test.cases.push_back(std::move(one));
  }
}

/// Loads cases in the order of the rules.
void load_rejects(Test& test, const Yaml& yaml, const Record& record) {
  for (const auto& [rule, changes] : yaml.items()) {
    const auto is_rule = [&rule = rule](const NamedExpr& r) { return r.name == rule; };
    if (std::none_of(record.rules.begin(), record.rules.end(), is_rule))
      fail_at(changes.source(), "there is no rule {}", rule);
  }
  for (const NamedExpr& rule : record.rules) {
    if (!yaml.has(rule.name)) continue;
    Case rejected = test.cases[0];
    load_into(rejected, yaml.at(rule.name), record);
    test.rejects.emplace_back(rule.name, std::move(rejected));
  }
}

}  // namespace

Test load_test(const Yaml& yaml, const Record& record) {
  Test test;
  const auto cases = yaml.at("cases").elements();
  if (cases.empty()) fail_at(yaml.at("cases").source(), "there is no case");
  std::vector<Choice> choices = type_choices(yaml, record);
  if (yaml.has("each")) choices = load_choices(std::move(choices), yaml.at("each"), record);
  const std::optional<Yaml> given = yaml.has("given") ? std::optional(yaml.at("given")) : std::nullopt;
  for (const Yaml& element : cases) add_cases(test, element, given, choices, record);
  test.domain = load_numbers(yaml, "domain", record);
  test.special = load_numbers(yaml, "special", record);
  test.values = load_numbers(yaml, "values", record);
  for (const auto& [port, range] : test.domain) {
    if (range.size() != 2 || !(range[0] <= range[1]))
      fail_at(yaml.at("domain").at(port).source(), "expected [lowest, highest]");
  }
  if (yaml.has("tolerance")) test.tolerance = to_number(yaml.at("tolerance"));
  if (!yaml.has("bitwise")) {
    test.bitwise = {"levels", "threads", "devices"};
  } else {
    for (const Yaml& element : yaml.at("bitwise").elements()) {
      if (element.text() != "levels" && element.text() != "threads" && element.text() != "devices")
        fail_at(element.source(), "found '{}', expected levels, threads or devices", element.text());
      test.bitwise.push_back(element.text());
    }
  }
  if (yaml.has("grad")) test.gradient = to_bool(yaml.at("grad"));
  if (yaml.has("grad_why")) test.gradient_why = yaml.at("grad_why").text();
  if (!test.gradient && test.gradient_why.empty())
    fail_at(yaml.at("grad").source(), "the check is left out without a reason in 'grad_why'");
  if (yaml.has("reject")) load_rejects(test, yaml.at("reject"), record);
  return test;
}

}  // namespace halfstep::opgen

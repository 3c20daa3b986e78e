#include "opgen/gradient.h"

#include <set>

#include "halfstep/base/nearest.h"
#include "opgen/gradient_calls.h"
#include "opgen/scalar.h"
#include "opgen/synthesize.h"

namespace halfstep::opgen {
namespace {

bool admits_float(const Port& port, const Record& record) {
  switch (port.type.kind) {
    case TypeSpec::Kind::classed: return port.type.type_class.admits_float();
    case TypeSpec::Kind::variable: {
      const auto declared = record.type_variables.find(port.type.name);
      return declared == record.type_variables.end() || declared->second.admits_float();
    }
    case TypeSpec::Kind::like: return admits_float(*record.input(port.type.name), record);
    case TypeSpec::Kind::attribute:
    case TypeSpec::Kind::first: return false;
  }
  return false;
}

Gradient::Rule load_rule(const Yaml& yaml) {
  if (!yaml.has("rule")) return Gradient::Rule::derivative;
  const Yaml rule = yaml.at("rule");
  if (rule.text() == "derivative") return Gradient::Rule::derivative;
  if (rule.text() == "straight_through") return Gradient::Rule::straight_through;
  fail_at(rule.source(), "found '{}', expected derivative or straight_through", rule.text());
}

std::string load_unless(const Yaml& yaml, const Record& record) {
  if (!yaml.has("unless")) return {};
  const Yaml unless = yaml.at("unless");
  const AttributeSpec* spec = record.attribute(unless.text());
  if (spec == nullptr || !std::holds_alternative<bool>(spec->value))
    fail_at(unless.source(), "there is no bool attribute '{}'{}", unless.text(),
            did_you_mean(unless.text(), record.attribute_names()));
  return unless.text();
}

/// Keys are inputs, and every input that may be float has one.
void check_keys(const Yaml& yaml, const Record& record) {
  std::vector<std::string> known = {"rule", "unless"};
  for (const Port& port : record.inputs) known.push_back(port.name);
  for (const auto& [key, value] : yaml.items()) {
    if (key != "rule" && key != "unless" && record.input(key) == nullptr)
      fail_at(value.source(), "there is no input '{}'{}", key, did_you_mean(key, known));
  }
  for (const Port& port : record.inputs) {
    if (admits_float(port, record) && !yaml.has(port.name))
      fail_at(yaml.source(), "the gradient of the input {} is not stated (an expression or none)", port.name);
  }
}

/// Whether the gradient of a pointwise operator is written as scalars.
bool is_scalar(const Expr& expr) {
  if (expr.is(Expr::Kind::call)) return is_scalar_function(expr.text);
  return !expr.is(Expr::Kind::name) && !expr.is(Expr::Kind::member);
}

void load_block(Records& records, Record& record, const Yaml& yaml) {
  if (yaml.is_scalar()) {
    if (yaml.text() != "none")
      fail_at(yaml.source(), "found '{}', expected none or a gradient for each input", yaml.text());
    return;
  }
  check_keys(yaml, record);
  record.gradient.rule = load_rule(yaml);
  record.gradient.unless = load_unless(yaml, record);
  for (const Port& port : record.inputs) {
    if (!yaml.has(port.name) || yaml.at(port.name).text() == "none") continue;
    const Yaml text = yaml.at(port.name);
    NamedExpr gradient{text.source(), port.name, text.text(), parse_expr(text.text(), text.source())};
    if (record.compute && is_scalar(gradient.expr))
      gradient.expr = synthesize_gradient(records, record, port, gradient);
    record.gradient.inputs.push_back(std::move(gradient));
  }
}

}  // namespace

void resolve_gradients(Records& records, const GradientBlocks& blocks) {
  const size_t written = records.size();
  for (size_t i = 0; i < written; ++i) {
    const auto block = blocks.find(records[i].name);
    if (block != blocks.end()) load_block(records, records[i], block->second);
  }
  for (Record& record : records) {
    for (NamedExpr& gradient : record.gradient.inputs) check_gradient_calls(gradient, record, records);
  }
}

}  // namespace halfstep::opgen

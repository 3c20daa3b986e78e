#include "opgen/gradient.h"

#include <algorithm>
#include <set>

#include "halfstep/core/base/diagnostics/nearest.h"
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

/// Checks that keys are inputs, and that every input with a float type has a gradient.
void check_keys(const Yaml& yaml, const Record& record) {
  std::vector<std::string> known = {"rule", "unless", "let"};
  for (const Port& port : record.inputs) known.push_back(port.name);
  for (const auto& [key, value] : yaml.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail_at(value.source(), "there is no input '{}'{}", key, did_you_mean(key, known));
  }
  for (const Port& port : record.inputs) {
    if (admits_float(port, record) && !yaml.has(port.name))
      fail_at(yaml.source(), "the gradient of the input {} is not stated (an expression or none)", port.name);
  }
}

/// Whether the gradient of a pointwise operator is a scalar expression.
bool is_scalar(const Expr& expr) {
  if (expr.is(Expr::Kind::call)) return is_scalar_function(expr.text);
  return !expr.is(Expr::Kind::name) && !expr.is(Expr::Kind::member);
}

/// Replaces names of `let` by their values.
class Lets {
 public:
  Lets(const Yaml& block, const Record& record) {
    if (!block.has("let")) return;
    for (const auto& [name, text] : block.at("let").items()) {
      if (is_taken(name, record)) fail_at(text.source(), "the name '{}' is used twice", name);
      NamedExpr let{text.source(), name, text.text(), parse_expr(text.text(), text.source())};
      put_into(let);
      lets_.push_back(std::move(let));
    }
  }

  void put_into(NamedExpr& gradient) {
    if (put_into(gradient.expr)) gradient.text = to_text(gradient.expr);
  }

  void check_used() const {
    for (const NamedExpr& let : lets_) {
      if (!used_.contains(let.name)) fail_at(let.source, "nothing uses it");
    }
  }

 private:
  static bool is_taken(const std::string& name, const Record& record) {
    const auto is_of_output = [&name](const Port& port) { return name == port.name || name == port.name + "_grad"; };
    return record.input(name) != nullptr || record.attribute(name) != nullptr ||
           std::any_of(record.outputs.begin(), record.outputs.end(), is_of_output);
  }

  bool put_into(Expr& expr) {
    for (const NamedExpr& let : lets_) {
      if (!expr.is_name(let.name)) continue;
      used_.insert(let.name);
      expr = let.expr;
      return true;
    }
    bool changed = false;
    for (Expr& arg : expr.args) changed = put_into(arg) || changed;
    return changed;
  }

  std::vector<NamedExpr> lets_;
  std::set<std::string> used_;
};

void load_block(Records& records, Record& record, const Yaml& yaml) {
  if (yaml.is_scalar())
    fail_at(yaml.source(), "found '{}', expected a gradient for each input, or {{none: WHY}}", yaml.text());
  if (yaml.has("none")) {
    if (yaml.items().size() != 1) fail_at(yaml.source(), "'none' must be the only key");
    record.gradient.why_none = yaml.at("none").text();
    return;
  }
  check_keys(yaml, record);
  record.gradient.rule = load_rule(yaml);
  record.gradient.unless = load_unless(yaml, record);
  Lets lets(yaml, record);
  for (const Port& port : record.inputs) {
    if (!yaml.has(port.name) || yaml.at(port.name).text() == "none") continue;
    const Yaml text = yaml.at(port.name);
    NamedExpr gradient{text.source(), port.name, text.text(), parse_expr(text.text(), text.source())};
    lets.put_into(gradient);
    if (record.compute && is_scalar(gradient.expr))
      gradient.expr = synthesize_gradient(records, record, port, gradient);
    record.gradient.inputs.push_back(std::move(gradient));
  }
  lets.check_used();
}

/// The reason for records that state none, from properties that many of them share. "" if there is none.
std::string common_reason(const Record& record) {
  const auto is_gradient = [](const Port& port) { return port.name.ends_with("_grad"); };
  if (std::ranges::any_of(record.inputs, is_gradient))
    return "it computes a gradient, which is not differentiated again";
  if (record.quant && record.quant->trait == "observer")
    return "it watches a tensor and decides its range, which no loss reads";
  if (record.has_codes()) return "it makes or reads codes, and training moves the real values that they stand for";
  if (std::ranges::none_of(record.inputs, [&](const Port& port) { return admits_float(port, record); }))
    return "its operands are integers, codes or conditions, which training does not move";
  return {};
}

}  // namespace

void resolve_gradients(Records& records, const GradientBlocks& blocks) {
  const size_t written = records.size();
  for (size_t i = 0; i < written; ++i) {
    const auto block = blocks.find(records[i].name);
    if (block != blocks.end()) load_block(records, records[i], block->second);
  }
  for (Record& record : records) {
    const bool states_none = record.gradient.rule == Gradient::Rule::none && record.gradient.why_none.empty();
    if (states_none && record.flow.empty()) record.gradient.why_none = common_reason(record);
    for (NamedExpr& gradient : record.gradient.inputs) check_gradient_calls(gradient, record, records);
  }
}

}  // namespace halfstep::opgen

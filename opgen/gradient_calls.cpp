#include "opgen/gradient_calls.h"

#include <algorithm>
#include <map>
#include <utility>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "opgen/presence.h"

namespace halfstep::opgen {
namespace {

using Kind = Expr::Kind;

/// Whether the expression is where(CONDITION, A, B) on values.
bool is_choice(const Expr& expr) { return expr.is(Kind::call) && expr.text == "where"; }

class Checker {
 public:
  Checker(const NamedExpr& gradient, const Record& record, const Records& records)
      : gradient_(gradient), source_(gradient.source), record_(record), records_(records) {}

  /// Replaces `...` by attributes. Returns whether it was present.
  bool hand_on(Expr& expr) const {
    bool found = false;
    for (Expr& arg : expr.args) found = hand_on(arg) || found;
    const auto rest = std::find(expr.keywords.begin(), expr.keywords.end(), kRest);
    const Record* callee = find(records_, expr.text);
    if (rest == expr.keywords.end() || callee == nullptr) return found;
    const std::vector<std::string> shared = shared_attributes(expr, *callee);
    if (shared.empty()) fail_at(source_, "{} has no attribute that '...' could pass on", callee->name);
    const auto place = expr.args.erase(expr.args.begin() + (rest - expr.keywords.begin()));
    std::vector<Expr> values(shared.size());
    for (size_t i = 0; i < shared.size(); ++i) values[i].text = shared[i];
    expr.args.insert(place, values.begin(), values.end());
    expr.keywords.insert(expr.keywords.erase(rest), shared.begin(), shared.end());
    return true;
  }

  /// `taker` is the input port that receives the value, or null for the gradient itself.
  void value(Expr& expr, const Port* taker) const {
    if (is_choice(expr)) {
      check_choice(expr, taker);
    } else if (expr.is(Kind::member)) {
      Expr& call = expr.args[0];
      if (!call.is(Kind::call)) fail_at(source_, "'.{}' follows no call", expr.text);
      const Record& callee = check_call(call);
      if (callee.output(expr.text) == nullptr)
        fail_at(source_, "{} has no output '{}'{}", callee.name, expr.text,
                did_you_mean(expr.text, names(callee.outputs)));
    } else if (expr.is(Kind::call)) {
      const Record& callee = check_call(expr);
      if (callee.outputs.size() != 1)
        fail_at(source_, "{} has several outputs, select one: {}(...).{}", callee.name, callee.name,
                callee.outputs[0].name);
    } else if (expr.is(Kind::name)) {
      check_name(expr, taker);
    } else {
      fail_at(source_, "'{}' is not a value, expected a port or a call of an operator", to_text(expr));
    }
  }

 private:
  void check_choice(Expr& choice, const Port* taker) const {
    if (choice.args.size() != 3) fail_at(source_, "'{}' is not where(CONDITION, A, B)", to_text(choice));
    check_condition(choice.args[0], record_, source_);
    value(choice.args[1], taker);
    const std::string outer = std::exchange(excluded_, choice.args[0].is(Kind::name) ? choice.args[0].text : excluded_);
    value(choice.args[2], taker);
    excluded_ = outer;
  }

  static std::vector<std::string> names(const std::vector<Port>& ports) {
    std::vector<std::string> list;
    for (const Port& port : ports) list.push_back(port.name);
    return list;
  }

  /// Returns attributes that both operators have and the call does not set.
  std::vector<std::string> shared_attributes(const Expr& call, const Record& callee) const {
    std::vector<std::string> shared = callee.attribute_names();
    std::erase_if(shared, [&](const std::string& name) {
      return record_.attribute(name) == nullptr || std::ranges::find(call.keywords, name) != call.keywords.end();
    });
    return shared;
  }

  bool is_output_gradient(const std::string& name) const {
    return std::any_of(record_.outputs.begin(), record_.outputs.end(),
                       [&name](const Port& port) { return name == port.name + "_grad"; });
  }

  void check_name(const Expr& expr, const Port* taker) const {
    if (is_output_gradient(expr.text)) return;
    const Port* input = record_.input(expr.text);
    if (input == nullptr && record_.output(expr.text) == nullptr) {
      std::vector<std::string> known = names(record_.inputs);
      for (const Port& output : record_.outputs) {
        known.push_back(output.name);
        known.push_back(output.name + "_grad");
      }
      fail_at(source_, "unknown value '{}'{}", expr.text, did_you_mean(expr.text, known));
    }
    const Port& port = input != nullptr ? *input : *record_.output(expr.text);
    if (!port.unless.empty() && port.unless != record_.gradient.unless && port.unless != excluded_)
      fail_at(source_, "{} is not there when {} is true, so the gradient needs 'unless: {}'", port.name, port.unless,
              port.unless);
    const bool variadic = input != nullptr && input->variadic;
    if (variadic != (taker != nullptr && taker->variadic))
      fail_at(source_, "{} {}", expr.text,
              variadic ? "is variadic, and only a variadic input takes it" : "is one value, expected a variadic input");
    const bool optional = input != nullptr && input->optional && input->name != gradient_.name;
    if (optional && taker != nullptr && !taker->optional)
      fail_at(source_, "the input {} may be absent, and {} is not optional", expr.text, taker->name);
  }

  const Record& check_call(Expr& call) const {
    const Record* callee = find(records_, call.text);
    if (callee == nullptr) {
      std::vector<std::string> known;
      for (const Record& record : records_) known.push_back(record.name);
      fail_at(source_, "unknown operator '{}'{}", call.text, did_you_mean(call.text, known));
    }
    for (size_t i = 0; i < call.args.size(); ++i) check_argument(call, i, *callee);
    check_complete(call, *callee);
    return *callee;
  }

  void check_argument(Expr& call, size_t i, const Record& callee) const {
    std::string& keyword = call.keywords[i];
    if (keyword.empty()) {
      if (i >= callee.inputs.size())
        fail_at(source_, "{} has {} inputs, found another positional argument '{}'", callee.name, callee.inputs.size(),
                to_text(call.args[i]));
      keyword = callee.inputs[i].name;
    }
    const auto first = std::find(call.keywords.begin(), call.keywords.end(), keyword);
    if (first != call.keywords.begin() + static_cast<std::ptrdiff_t>(i))
      fail_at(source_, "{} gets '{}' twice", callee.name, keyword);
    if (const Port* port = callee.input(keyword)) return value(call.args[i], port);
    const AttributeSpec* spec = callee.attribute(keyword);
    if (spec == nullptr) {
      std::vector<std::string> known = names(callee.inputs);
      for (const std::string& name : callee.attribute_names()) known.push_back(name);
      fail_at(source_, "{} has no input or attribute '{}'{}", callee.name, keyword, did_you_mean(keyword, known));
    }
    check_attribute(call.args[i], *spec, callee);
  }

  void check_complete(const Expr& call, const Record& callee) const {
    const auto given = [&call](const std::string& name) {
      return std::find(call.keywords.begin(), call.keywords.end(), name) != call.keywords.end();
    };
    for (const Port& port : callee.inputs) {
      if (port.always_there() && !port.variadic && !given(port.name))
        fail_at(source_, "{} needs the input {}", callee.name, port.name);
    }
    for (const AttributeSpec& spec : callee.attributes) {
      if (spec.required && !given(spec.name)) fail_at(source_, "{} needs the attribute {}", callee.name, spec.name);
    }
  }

  void check_attribute(Expr& expr, const AttributeSpec& wanted, const Record& callee) const {
    const std::string_view found = attribute_type(expr);
    const std::string_view expected = type_name(wanted.value);
    if (found == "int" && expected == "float" && expr.is(Kind::integer)) {
      expr.kind = Kind::real;
      expr.real = static_cast<double>(expr.integer);
    } else if (found != expected) {
      fail_at(source_, "the attribute {} of {} is of type {}, found '{}' of type {}", wanted.name, callee.name,
              expected, to_text(expr), found);
    }
  }

  std::string_view attribute_type(const Expr& expr) const {
    switch (expr.kind) {
      case Kind::integer: return "int";
      case Kind::real: return "float";
      case Kind::boolean: return "bool";
      case Kind::text: return "string";
      case Kind::name: return attribute_name_type(expr);
      case Kind::call: return extent_type(expr);
      case Kind::unary:
        if (expr.text == "not" && attribute_type(expr.args[0]) == "bool") return "bool";
        fail_at(source_, "'{}' is not an attribute value", to_text(expr));
      case Kind::list:
        for (const Expr& element : expr.args) {
          if (attribute_type(element) != "int") fail_at(source_, "'{}' is not an int", to_text(element));
        }
        return "ints";
      default: fail_at(source_, "'{}' is not an attribute value", to_text(expr));
    }
  }

  std::string_view attribute_name_type(const Expr& expr) const {
    const Port* port = record_.input(gradient_.name);
    if (expr.text == "index" && port->variadic) return "int";
    const AttributeSpec* spec = record_.attribute(expr.text);
    if (spec == nullptr)
      fail_at(source_, "unknown attribute '{}'{}", expr.text, did_you_mean(expr.text, record_.attribute_names()));
    return type_name(spec->value);
  }

  std::string_view extent_type(const Expr& call) const {
    const bool is_dim = call.text == "dim" && call.args.size() == 2 && call.args[1].is(Kind::integer);
    static const std::map<std::string_view, std::string_view> kOfOne = {
        {"rank", "int"}, {"dims", "ints"}, {"dtype", "string"}};
    const auto of_one = call.args.size() == 1 ? kOfOne.find(call.text) : kOfOne.end();
    if (!is_dim && of_one == kOfOne.end())
      fail_at(source_, "'{}' is not an attribute value, expected dim(x, 2), rank(x), dims(x) or dtype(x)",
              to_text(call));
    const Expr& value = call.args[0];
    const Port* port = value.is(Kind::name) ? record_.input(value.text) : nullptr;
    if (port == nullptr || port->variadic) fail_at(source_, "'{}' is not an input with one value", to_text(value));
    return is_dim ? "int" : of_one->second;
  }

  const NamedExpr& gradient_;
  const Source& source_;
  const Record& record_;
  const Records& records_;
  mutable std::string excluded_;  ///< bool attribute that is false for the value that is checked, or ""
};

}  // namespace

void check_gradient_calls(NamedExpr& gradient, const Record& record, const Records& records) {
  const Checker checker(gradient, record, records);
  if (checker.hand_on(gradient.expr)) gradient.text = to_text(gradient.expr);
  checker.value(gradient.expr, nullptr);
}

}  // namespace halfstep::opgen

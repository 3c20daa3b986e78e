#include "opgen/presence.h"

#include <map>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "opgen/cpp.h"

namespace halfstep::opgen {
namespace {

using Kind = Expr::Kind;

/// Names of comparison operators in identifiers.
const std::map<std::string, std::string>& comparisons() {
  static const std::map<std::string, std::string> kWords = {{"<", "lt"},  {"<=", "le"}, {">", "gt"},
                                                            {">=", "ge"}, {"==", "eq"}, {"!=", "ne"}};
  return kWords;
}

bool is_comparison(const Expr& expr) { return expr.is(Kind::binary) && comparisons().contains(expr.text); }

const AttributeSpec& attribute_of(const Expr& expr, const Record& record, const Source& source) {
  const AttributeSpec* spec = expr.is(Kind::name) ? record.attribute(expr.text) : nullptr;
  if (spec == nullptr)
    fail_at(source, "there is no attribute '{}'{}", to_text(expr), did_you_mean(expr.text, record.attribute_names()));
  return *spec;
}

bool is_whole(const Expr& expr) {
  return expr.is(Kind::integer) || (expr.is(Kind::unary) && expr.text == "-" && expr.args[0].is(Kind::integer));
}

int64_t whole(const Expr& expr) { return expr.is(Kind::integer) ? expr.integer : -expr.args[0].integer; }

template <class T>
T value_of(const std::string& name, const Attributes& attributes, const Record& record) {
  const auto given = attributes.find(name);
  return std::get<T>(given != attributes.end() ? given->second : record.attribute(name)->value);
}

bool compare(int64_t a, const std::string& sign, int64_t b) {
  if (sign == "<") return a < b;
  if (sign == "<=") return a <= b;
  if (sign == ">") return a > b;
  if (sign == ">=") return a >= b;
  return (a == b) == (sign == "==");
}

}  // namespace

void check_condition(const Expr& condition, const Record& record, const Source& source) {
  if (is_comparison(condition)) {
    const AttributeSpec& spec = attribute_of(condition.args[0], record, source);
    if (!std::holds_alternative<int64_t>(spec.value))
      fail_at(source, "the attribute {} is of type {}, expected int", spec.name, type_name(spec.value));
    if (!is_whole(condition.args[1]))
      fail_at(source, "'{}' is not an integer to compare {} with", to_text(condition.args[1]), spec.name);
  } else if (condition.is(Kind::binary) || condition.is(Kind::unary)) {
    if (condition.text != "and" && condition.text != "or" && condition.text != "not")
      fail_at(source, "'{}' is not a condition", to_text(condition));
    for (const Expr& part : condition.args) check_condition(part, record, source);
  } else {
    const AttributeSpec& spec = attribute_of(condition, record, source);
    if (!std::holds_alternative<bool>(spec.value))
      fail_at(source, "the attribute {} is of type {}, expected bool", spec.name, type_name(spec.value));
  }
}

bool holds(const Expr& condition, const Attributes& attributes, const Record& record) {
  const auto part = [&](size_t i) { return holds(condition.args[i], attributes, record); };
  if (is_comparison(condition))
    return compare(value_of<int64_t>(condition.args[0].text, attributes, record), condition.text,
                   whole(condition.args[1]));
  if (condition.is(Kind::unary)) return !part(0);
  if (condition.is(Kind::binary)) return condition.text == "and" ? part(0) && part(1) : part(0) || part(1);
  return value_of<bool>(condition.text, attributes, record);
}

std::string condition_cpp(const Expr& condition, const Record& record) {
  const auto part = [&](size_t i) { return condition_cpp(condition.args[i], record); };
  if (is_comparison(condition))
    return fmt::format("get<int64_t>(attributes, {}) {} {}", string_literal(condition.args[0].text), condition.text,
                       whole(condition.args[1]));
  if (condition.is(Kind::unary)) return fmt::format("!({})", part(0));
  if (condition.is(Kind::binary))
    return fmt::format("({}) {} ({})", part(0), condition.text == "and" ? "&&" : "||", part(1));
  return fmt::format("get<bool>(attributes, {})", string_literal(condition.text));
}

std::string condition_name(const Expr& condition) {
  if (is_comparison(condition)) {
    const int64_t number = whole(condition.args[1]);
    return fmt::format("{}_{}_{}{}", condition.args[0].text, comparisons().at(condition.text),
                       number < 0 ? "minus_" : "", number < 0 ? -number : number);
  }
  if (condition.is(Kind::unary)) return "not_" + condition_name(condition.args[0]);
  if (condition.is(Kind::binary))
    return condition_name(condition.args[0]) + "_" + condition.text + "_" + condition_name(condition.args[1]);
  return condition.text;
}

}  // namespace halfstep::opgen

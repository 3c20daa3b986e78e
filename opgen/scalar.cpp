#include "opgen/scalar.h"

#include <map>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "opgen/cpp.h"

namespace halfstep::opgen {
namespace {

using Kind = Expr::Kind;

/// Number of arguments of each function.
const std::map<std::string, size_t>& scalar_functions() {
  static const std::map<std::string, size_t> kFunctions = {
      {"where", 3}, {"exp", 1},   {"sigmoid", 1}, {"abs", 1},   {"min", 2},   {"max", 2},   {"sqrt", 1},
      {"rint", 1},  {"floor", 1}, {"ceil", 1},    {"log", 1},   {"log1p", 1}, {"expm1", 1}, {"erf", 1},
      {"sin", 1},   {"cos", 1},   {"tan", 1},     {"asin", 1},  {"acos", 1},  {"atan", 1},  {"sinh", 1},
      {"cosh", 1},  {"tanh", 1},  {"asinh", 1},   {"acosh", 1}, {"atanh", 1}, {"pow", 2}};
  return kFunctions;
}

class ScalarChecker {
 public:
  ScalarChecker(const std::set<std::string>& values, const Record& record, const Source& source)
      : values_(values), record_(record), source_(source) {}

  void number(Expr& expr) const { check(expr, ExprType::real); }

 private:
  void check(Expr& expr, ExprType wanted) const {
    expr.type = type(expr);
    if (expr.type != wanted)
      fail_at(source_, "'{}' is {}", to_text(expr),
              wanted == ExprType::real ? "a condition, expected a number" : "a number, expected a condition");
  }

  ExprType type(Expr& expr) const {
    switch (expr.kind) {
      case Kind::integer:
      case Kind::real: return ExprType::real;
      case Kind::boolean: return ExprType::boolean;
      case Kind::name: return name_type(expr);
      case Kind::call: return call_type(expr);
      case Kind::unary: return same(expr, expr.text == "not" ? ExprType::boolean : ExprType::real);
      case Kind::binary: return binary_type(expr);
      default: fail_at(source_, "'{}' is not defined for scalars", to_text(expr));
    }
  }

  ExprType same(Expr& expr, ExprType of) const {
    for (Expr& arg : expr.args) check(arg, of);
    return of;
  }

  ExprType binary_type(Expr& expr) const {
    const std::string& op = expr.text;
    if (op == "and" || op == "or") return same(expr, ExprType::boolean);
    same(expr, ExprType::real);
    if (op == "//" || op == "%" || op == "in") fail_at(source_, "'{}' is not defined for scalars", op);
    return op[0] == '<' || op[0] == '>' || op[0] == '=' || op[0] == '!' ? ExprType::boolean : ExprType::real;
  }

  ExprType name_type(const Expr& expr) const {
    if (values_.contains(expr.text)) return ExprType::real;
    const AttributeSpec* spec = record_.attribute(expr.text);
    if (spec == nullptr) {
      std::vector<std::string> known(values_.begin(), values_.end());
      for (const std::string& name : record_.attribute_names()) known.push_back(name);
      fail_at(source_, "unknown name '{}'{}", expr.text, did_you_mean(expr.text, known));
    }
    if (std::holds_alternative<bool>(spec->value)) return ExprType::boolean;
    if (!std::holds_alternative<int64_t>(spec->value) && !std::holds_alternative<double>(spec->value))
      fail_at(source_, "the attribute {} is not a number", expr.text);
    return ExprType::real;
  }

  ExprType call_type(Expr& expr) const {
    const auto found = scalar_functions().find(expr.text);
    if (found == scalar_functions().end()) {
      std::vector<std::string> known;
      for (const auto& [name, count] : scalar_functions()) known.push_back(name);
      fail_at(source_, "unknown function '{}'{}", expr.text, did_you_mean(expr.text, known));
    }
    if (expr.args.size() != found->second)
      fail_at(source_, "{} has {} arguments, expected {}", to_text(expr), expr.args.size(), found->second);
    for (size_t i = 0; i < expr.args.size(); ++i)
      check(expr.args[i], expr.text == "where" && i == 0 ? ExprType::boolean : ExprType::real);
    return ExprType::real;
  }

  const std::set<std::string>& values_;
  const Record& record_;
  const Source& source_;
};

std::string number_text(const Expr& expr) {
  return expr.is(Kind::integer) ? std::to_string(expr.integer) : double_cpp(expr.real);
}

bool is_attribute(const Expr& expr, const Record& record) {
  return expr.is(Kind::name) && record.attribute(expr.text) != nullptr && record.input(expr.text) == nullptr;
}

std::string operator_cpp(const std::string& op) { return op == "and" ? "&&" : op == "or" ? "||" : op; }

/// Returns `text` as an operand, in parentheses unless it is an atom or a call.
std::string operand(const Expr& expr, const std::string& text) {
  const bool plain = !(expr.is(Kind::binary) && expr.text != "/") && !expr.is(Kind::unary) &&
                     !(expr.is(Kind::call) && expr.text == "where");
  return plain ? text : "(" + text + ")";
}

}  // namespace

bool is_scalar_function(const std::string& name) { return scalar_functions().contains(name); }

void check_scalar(Expr& expr, const std::set<std::string>& values, const Record& record, const Source& source) {
  ScalarChecker(values, record, source).number(expr);
}

std::string scalar_c(const Expr& expr, const Record& record) {
  std::vector<std::string> args;
  for (const Expr& arg : expr.args) args.push_back("(" + scalar_c(arg, record) + ")");
  switch (expr.kind) {
    case Kind::integer: return std::to_string(expr.integer) + ".0f";
    case Kind::real: return "(float)" + double_cpp(expr.real);
    case Kind::boolean: return expr.text == "true" ? "1" : "0";
    case Kind::name: return is_attribute(expr, record) ? "@" + expr.text + "@" : expr.text;
    case Kind::unary: return (expr.text == "not" ? "!" : "-") + args[0];
    case Kind::binary: return args[0] + " " + operator_cpp(expr.text) + " " + args[1];
    case Kind::call: break;
    default: return expr.text;
  }
  if (expr.text == "where") return args[0] + " ? " + args[1] + " : " + args[2];
  if (expr.text == "sigmoid") return "1.0f / (1.0f + expf(-" + args[0] + "))";
  if (expr.text == "min") return args[1] + " < " + args[0] + " ? " + args[1] + " : " + args[0];
  if (expr.text == "max") return args[1] + " > " + args[0] + " ? " + args[1] + " : " + args[0];
  return (expr.text == "abs" ? "fabs" : expr.text) + "f(" + join(args, ", ") + ")";
}

std::string scalar_cpp(const Expr& expr, const Record& record) {
  std::vector<std::string> args;
  for (const Expr& arg : expr.args) args.push_back(scalar_cpp(arg, record));
  switch (expr.kind) {
    case Kind::integer:
    case Kind::real: return "T(" + number_text(expr) + ")";
    case Kind::name:
      if (!is_attribute(expr, record) || expr.type == ExprType::boolean) return cpp_name(expr.text);
      return "static_cast<T>(" + cpp_name(expr.text) + ")";
    case Kind::unary: return (expr.text == "not" ? "!" : "-") + operand(expr.args[0], args[0]);
    case Kind::binary:
      if (expr.text == "/") return "quotient_of(" + args[0] + ", " + args[1] + ")";
      return operand(expr.args[0], args[0]) + " " + operator_cpp(expr.text) + " " + operand(expr.args[1], args[1]);
    case Kind::call:
      if (expr.text != "where") return expr.text + "_of(" + join(args, ", ") + ")";
      return operand(expr.args[0], args[0]) + " ? " + operand(expr.args[1], args[1]) + " : " +
             operand(expr.args[2], args[2]);
    default: return expr.text;
  }
}

bool is_approximated(const Expr& expr) {
  return expr.is(Kind::call) && (expr.text == "exp" || expr.text == "sigmoid" || expr.text == "erf");
}

std::string simd_cpp(const Expr& expr, const Record& record) {
  static const std::map<std::string, std::string> kNames = {
      {"+", "hn::Add"},          {"-", "hn::Sub"},     {"*", "hn::Mul"},
      {"/", "hn::Div"},          {"<", "hn::Lt"},      {"<=", "hn::Le"},
      {">", "hn::Gt"},           {">=", "hn::Ge"},     {"==", "hn::Eq"},
      {"!=", "unequal"},         {"and", "hn::And"},   {"or", "hn::Or"},
      {"exp", "exp_of"},         {"abs", "hn::Abs"},   {"min", "min_of"},
      {"max", "max_of"},         {"sqrt", "hn::Sqrt"}, {"rint", "hn::Round"},
      {"floor", "hn::Floor"},    {"ceil", "hn::Ceil"}, {"where", "hn::IfThenElse"},
      {"sigmoid", "sigmoid_of"}, {"erf", "erf_of"}};
  std::vector<std::string> args;
  for (const Expr& arg : expr.args) args.push_back(simd_cpp(arg, record));
  const bool chooses = expr.is(Kind::call) && expr.text == "where" && is_attribute(expr.args[0], record);
  if (chooses)  // the condition is the same for all elements, so only the chosen branch is computed
    return "(f." + cpp_name(expr.args[0].text) + " ? " + args[1] + " : " + args[2] + ")";
  switch (expr.kind) {
    case Kind::integer:
    case Kind::real: return "number(d, " + number_text(expr) + ")";
    case Kind::boolean: return "mask(d, " + expr.text + ")";
    case Kind::name:
      if (!is_attribute(expr, record)) return cpp_name(expr.text);
      if (expr.type == ExprType::boolean) return "mask(d, f." + cpp_name(expr.text) + ")";
      return "number(d, f." + cpp_name(expr.text) + ")";
    case Kind::unary: return (expr.text == "not" ? "hn::Not(" : "hn::Neg(") + args[0] + ")";
    default: {
      const auto vectorized = kNames.find(expr.text);
      if (vectorized == kNames.end())  // computed element by element, with the scalar function
        return "each(d, arith::" + expr.text + "_of<float>, " + join(args, ", ") + ")";
      return vectorized->second + "(" + (is_approximated(expr) ? "d, " : "") + join(args, ", ") + ")";
    }
  }
}

}  // namespace halfstep::opgen

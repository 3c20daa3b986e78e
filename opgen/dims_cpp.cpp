#include "opgen/dims_cpp.h"

#include <algorithm>
#include <map>

#include "opgen/cpp.h"

namespace halfstep::opgen {
namespace {

using Kind = Expr::Kind;

/// Precedence of an expression in generated C++. Calls and names have the highest.
int tightness(const Expr& expr) {
  static const std::map<std::string, int> kTightness = {{"or", 1}, {"and", 2}, {"+", 5}, {"-", 5},
                                                        {"*", 6},  {"%", 6},   {"/", 6}};
  constexpr int kComparison = 4, kAtom = 9;
  if (expr.is(Kind::unary)) return 8;
  if (!expr.is(Kind::binary) || expr.text == "//") return kAtom;
  if (expr.text == "in") return expr.args[1].args.size() > 1 ? 1 : kComparison;
  const auto found = kTightness.find(expr.text);
  return found == kTightness.end() ? kComparison : found->second;
}

/// Returns an operand, in parentheses if C++ or readability requires them.
std::string operand(const Expr& expr, int outer, bool on_the_right) {
  const int inner = tightness(expr);
  const bool mixes = outer <= 2 && inner <= 2 && inner != outer;  // parentheses between && and ||
  const std::string text = dims_cpp(expr);
  return inner < outer || mixes || (on_the_right && inner == outer) ? "(" + text + ")" : text;
}

std::string comparison_cpp(const std::string& op, const Expr& a, const Expr& b) {
  if (a.type == ExprType::dtype) {
    const bool b_is_call = b.is(Kind::call);
    const Expr& call = a.is(Kind::call) ? a : b;
    const Expr& other = a.is(Kind::call) ? b : a;
    const std::string port = cpp_name(call.args.at(0).text);
    const std::string same = a.is(Kind::call) && b_is_call
                                 ? fmt::format("same_dtype({}, {})", port, cpp_name(b.args[0].text))
                                 : fmt::format("has_dtype({}, {})", port, dtype_cpp(*parse_dtype(other.text)));
    return op == "!=" ? "!" + same : same;
  }
  const std::string left =
      a.is(Kind::integer) && b.is(Kind::integer) ? "Dim(" + dims_cpp(a) + ")" : operand(a, 4, false);
  const std::string text = left + " " + op + " " + operand(b, 4, true);
  return a.type == ExprType::integer ? text : "truth(" + text + ")";
}

std::string member_of_cpp(const Expr& expr) {
  std::vector<std::string> cases;
  for (const Expr& element : expr.args[1].args) cases.push_back(comparison_cpp("==", expr.args[0], element));
  return join(cases, " || ");
}

std::string binary_cpp(const Expr& expr) {
  const Expr& a = expr.args[0];
  const Expr& b = expr.args[1];
  const std::string& op = expr.text;
  if (op == "in") return member_of_cpp(expr);
  if (op == "//") return "floor_div(" + dims_cpp(a) + ", " + dims_cpp(b) + ")";
  const int outer = tightness(expr);
  if (outer == 4) return comparison_cpp(op, a, b);
  const std::string spelled = op == "and" ? "&&" : op == "or" ? "||" : op;
  // A left-associative chain of one operator needs no parentheses. && and || may associate either way.
  return operand(a, outer, false) + " " + spelled + " " + operand(b, outer, outer > 2);
}

std::string call_cpp(const Expr& expr) {
  static const std::map<std::string, std::string> kFunctions = {
      {"rank", "rank_of"},          {"dim", "extent_of"},    {"numel", "count_of"},        {"len", "length_of"},
      {"min", "smallest"},          {"max", "largest"},      {"dtype_name", "dtype_name"}, {"per_row", "per_row"},
      {"per_column", "per_column"}, {"lowest", "lowest_of"}, {"highest", "highest_of"},    {"choose", "choose"}};
  if (expr.text == "has") return fmt::format("truth({}.type != nullptr)", cpp_name(expr.args[0].text));
  std::vector<std::string> args;
  for (const Expr& arg : expr.args) args.push_back(dims_cpp(arg));
  return kFunctions.at(expr.text) + "(" + join(args, ", ") + ")";
}

std::string integer_cpp(int64_t value) {
  return value < 0 ? fmt::format("Dim::exactly({})", value) : std::to_string(value);
}

void collect_facts(const Expr& expr, std::vector<std::string>& facts) {
  const auto add = [&facts](const std::string& text, const std::string& value) {
    const std::string fact = "{" + string_literal(text) + ", " + value + "}";
    if (std::find(facts.begin(), facts.end(), fact) == facts.end()) facts.push_back(fact);
  };
  if (expr.is(Kind::name) && expr.type != ExprType::port && expr.type != ExprType::dtype) {
    add(expr.text, cpp_name(expr.text));
  } else if (expr.is(Kind::call) && expr.text == "dtype") {
    add(to_text(expr), "dtype_name(" + cpp_name(expr.args[0].text) + ")");
  } else if (expr.is(Kind::call) && expr.text == "has") {
    add(to_text(expr), cpp_name(expr.args[0].text) + ".type != nullptr");
  } else if (expr.is(Kind::call) && expr.type == ExprType::boolean) {
    for (const Expr& arg : expr.args) add("dims of " + arg.text, cpp_name(arg.text));
  } else if (expr.is(Kind::call) && expr.args[0].type == ExprType::port) {
    add(to_text(expr), dims_cpp(expr));
  }
  for (const Expr& arg : expr.args) collect_facts(arg, facts);
}

}  // namespace

std::string dims_cpp(const Expr& expr) {
  switch (expr.kind) {
    case Kind::integer: return integer_cpp(expr.integer);
    case Kind::real: return double_cpp(expr.real);
    case Kind::boolean: return "truth(" + expr.text + ")";
    case Kind::text: return string_literal(expr.text);
    case Kind::name: return expr.type == ExprType::boolean ? "truth(" + cpp_name(expr.text) + ")" : cpp_name(expr.text);
    case Kind::call: return call_cpp(expr);
    case Kind::index: return "element(" + dims_cpp(expr.args[0]) + ", " + dims_cpp(expr.args[1]) + ")";
    case Kind::unary:
      if (expr.text == "not") return "!" + operand(expr.args[0], 8, false);
      return (expr.type == ExprType::integer ? "(Dim(0) - " : "(0.0 - ") + operand(expr.args[0], 5, true) + ")";
    case Kind::binary: return binary_cpp(expr);
    case Kind::list:
    case Kind::member: break;  // the checker rejects it
  }
  return {};
}

std::string shape_call_cpp(const Expr& call, const Record& record) {
  std::vector<std::string> args = {"site"};
  for (const Expr& arg : call.args) {
    const Port* port = record.input(arg.text);
    if (port == nullptr) {
      args.push_back(fmt::format("get<{}>(site.attributes, {})", attribute_type_cpp(record.attribute(arg.text)->value),
                                 string_literal(arg.text)));
    } else if (port->variadic) {
      args.push_back(fmt::format("site.in.subspan({})", record.inputs.size() - 1));
    } else {
      args.push_back(cpp_name(arg.text) + ".dims()");
    }
  }
  return "shapes::" + call.text + "(" + join(args, ", ") + ")";
}

std::vector<std::string> facts_cpp(const Expr& rule) {
  std::vector<std::string> facts;
  collect_facts(rule, facts);
  return facts;
}

}  // namespace halfstep::opgen

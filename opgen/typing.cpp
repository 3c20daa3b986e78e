#include "opgen/typing.h"

#include <array>
#include <set>

#include "halfstep/core/base/diagnostics/nearest.h"

namespace halfstep::opgen {
namespace {

using Kind = Expr::Kind;

std::string_view name(ExprType type) {
  static constexpr std::array<std::string_view, 10> kNames = {"nothing", "an int", "a float", "a condition", "a string",
                                                              "ints",    "floats", "strings", "a dtype",     "a port"};
  return kNames[static_cast<size_t>(type)];
}

ExprType type_of(const Attribute& value) {
  static constexpr std::array<ExprType, std::variant_size_v<Attribute>> kTypes = {
      ExprType::boolean,  ExprType::integer, ExprType::real, ExprType::text,
      ExprType::integers, ExprType::floats,  ExprType::texts};
  return kTypes[value.index()];
}

bool is_number(ExprType type) { return type == ExprType::integer || type == ExprType::real; }

struct Function {
  std::vector<ExprType> parameters;
  ExprType result;
};

const std::map<std::string, Function>& function_types() {
  using enum ExprType;
  static const std::map<std::string, Function> kFunctions = {
      {"rank", {{port}, integer}},          {"dim", {{port, integer}, integer}},
      {"numel", {{port}, integer}},         {"len", {{integers}, integer}},
      {"min", {{integers}, integer}},       {"max", {{integers}, integer}},
      {"has", {{port}, boolean}},           {"dtype", {{port}, dtype}},
      {"dtype_name", {{port}, text}},       {"lowest", {{text}, integer}},
      {"highest", {{text}, integer}},       {"choose", {{boolean, integer, integer}, integer}},
      {"per_row", {{port, port}, boolean}}, {"per_column", {{port, port}, boolean}},
  };
  return kFunctions;
}

/// An int literal next to a float becomes a float.
void widen(Expr& literal, const Expr& other) {
  if (!literal.is(Kind::integer) || other.type != ExprType::real) return;
  literal.kind = Kind::real;
  literal.real = static_cast<double>(literal.integer);
  literal.type = ExprType::real;
}

}  // namespace

Scope::Scope(const Record& record) : record_(record) {
  for (const Port& port : record.inputs) names_[port.name] = ExprType::port;
  for (const AttributeSpec& spec : record.attributes) names_[spec.name] = type_of(spec.value);
}

void Scope::add_outputs() {
  for (const Port& port : record_.outputs) names_[port.name] = ExprType::port;
}

const Port& Scope::port(const std::string& name) const {
  const Port* input = record_.input(name);
  return input != nullptr ? *input : *record_.output(name);
}

void Scope::check_as(Expr& expr, ExprType type, const Source& source) const {
  check(expr, source);
  if (expr.type != type) fail_at(source, "'{}' is {}, expected {}", to_text(expr), name(expr.type), name(type));
}

void Scope::check(Expr& expr, const Source& source) const {
  switch (expr.kind) {
    case Kind::integer: expr.type = ExprType::integer; return;
    case Kind::real: expr.type = ExprType::real; return;
    case Kind::boolean: expr.type = ExprType::boolean; return;
    case Kind::text: expr.type = ExprType::text; return;
    case Kind::name: return check_name(expr, source);
    case Kind::call: return check_call(expr, source);
    case Kind::unary: return check_unary(expr, source);
    case Kind::binary: return check_binary(expr, source);
    case Kind::index:
      check_as(expr.args[0], ExprType::integers, source);
      check_as(expr.args[1], ExprType::integer, source);
      expr.type = ExprType::integer;
      return;
    case Kind::list: fail_at(source, "the list {} is allowed only after 'in'", to_text(expr));
    case Kind::member: fail_at(source, "'.{}' is not allowed here", expr.text);
  }
}

void Scope::check_name(Expr& expr, const Source& source) const {
  const auto found = names_.find(expr.text);
  if (found != names_.end()) {
    expr.type = found->second;
  } else if (parse_dtype(expr.text)) {
    expr.type = ExprType::dtype;
  } else {
    std::vector<std::string> known;
    for (const auto& [known_name, type] : names_) known.push_back(known_name);
    fail_at(source, "unknown name '{}'{}", expr.text, did_you_mean(expr.text, known));
  }
}

void Scope::check_call(Expr& expr, const Source& source) const {
  const auto found = function_types().find(expr.text);
  if (found == function_types().end()) {
    std::vector<std::string> known;
    for (const auto& [known_name, function] : function_types()) known.push_back(known_name);
    fail_at(source, "unknown function '{}'{}", expr.text, did_you_mean(expr.text, known));
  }
  const std::vector<ExprType>& parameters = found->second.parameters;
  if (expr.args.size() != parameters.size())
    fail_at(source, "{} has {} arguments, expected {}", to_text(expr), expr.args.size(), parameters.size());
  expr.type = found->second.result;
  if (expr.text == "len") {
    check(expr.args[0], source);
    const std::set<ExprType> lists = {ExprType::integers, ExprType::floats, ExprType::texts};
    if (!lists.contains(expr.args[0].type)) fail_at(source, "'{}' is not a list", to_text(expr.args[0]));
    return;
  }
  for (size_t i = 0; i < parameters.size(); ++i) check_as(expr.args[i], parameters[i], source);
  if (parameters[0] != ExprType::port) return;
  const Port& first = port(expr.args[0].text);
  if (first.variadic) fail_at(source, "{} takes one value, and {} is variadic", expr.text, first.name);
  if (expr.text == "has" && first.always_there()) fail_at(source, "the input {} is always there", first.name);
}

void Scope::check_shape_function(Expr& call, const Source& source) const {
  for (Expr& arg : call.args) {
    if (!arg.is(Kind::name) || (record_.input(arg.text) == nullptr && record_.attribute(arg.text) == nullptr))
      fail_at(source, "'{}' is neither an input nor an attribute, as a shape function takes them", to_text(arg));
    check_name(arg, source);
    const Port* port = record_.input(arg.text);
    if (port != nullptr && !port->always_there())
      fail_at(source, "the input {} may be absent, so {} cannot read its dims", port->name, call.text);
  }
}

void Scope::check_unary(Expr& expr, const Source& source) const {
  if (expr.text == "not") {
    check_as(expr.args[0], ExprType::boolean, source);
  } else {
    check(expr.args[0], source);
    if (!is_number(expr.args[0].type)) fail_at(source, "'{}' is not a number", to_text(expr.args[0]));
  }
  expr.type = expr.args[0].type;
}

void Scope::check_binary(Expr& expr, const Source& source) const {
  if (expr.text == "in") return check_member_of(expr, source);
  Expr& a = expr.args[0];
  Expr& b = expr.args[1];
  check(a, source);
  check(b, source);
  widen(a, b);
  widen(b, a);
  const auto fits = [&](bool holds) {
    if (!holds)
      fail_at(source, "'{}': {} and {} do not fit '{}'", to_text(expr), name(a.type), name(b.type), expr.text);
  };
  fits(a.type == b.type);
  const std::string& op = expr.text;
  if (op == "and" || op == "or") {
    fits(a.type == ExprType::boolean);
    expr.type = ExprType::boolean;
  } else if (op == "==" || op == "!=") {
    const bool are_dtypes = a.type == ExprType::dtype && (a.is(Kind::call) || b.is(Kind::call));
    fits(is_number(a.type) || a.type == ExprType::text || are_dtypes);
    expr.type = ExprType::boolean;
  } else if (op[0] == '<' || op[0] == '>') {
    fits(is_number(a.type));
    expr.type = ExprType::boolean;
  } else {
    fits(op == "//" || op == "%" ? a.type == ExprType::integer
         : op == "/"             ? a.type == ExprType::real
                                 : is_number(a.type));
    expr.type = a.type;
  }
}

void Scope::check_member_of(Expr& expr, const Source& source) const {
  Expr& value = expr.args[0];
  Expr& list = expr.args[1];
  check(value, source);
  if (!list.is(Kind::list) || list.args.empty()) fail_at(source, "'{}' is not a list, as 'in' needs", to_text(list));
  for (Expr& element : list.args) check_as(element, value.type, source);
  const bool is_dtype = value.type == ExprType::dtype && value.is(Kind::call);
  if (!is_number(value.type) && value.type != ExprType::text && !is_dtype)
    fail_at(source, "'{}' is {}, which 'in' does not support", to_text(value), name(value.type));
  expr.type = ExprType::boolean;
}

}  // namespace halfstep::opgen

// Expressions of the records: one grammar for extents, rules, `compute` and gradients.
//
//   or > and > not > comparison, in > + - > * / // % > unary - > call f(a, name=b), index a[i], member a.port
//
// A call may contain the argument `...`. Gradients define its semantics.
//
// Literals: 1, 1.0, 1.0e-5, 'text', [a, b], true, false.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opgen/source.h"

namespace halfstep::opgen {

/// Type of an expression of extents, set by the checker.
enum class ExprType { none, integer, real, boolean, text, integers, floats, texts, dtype, port };

/// Name of the argument `...`.
constexpr const char* kRest = "...";

struct Expr {
  enum class Kind { integer, real, boolean, text, name, list, call, member, index, unary, binary };

  Kind kind = Kind::name;
  std::string text;     ///< name, function, operator, port of a member, or text value
  int64_t integer = 0;  ///< value of an integer; 0 or 1 for a boolean
  double real = 0;
  std::vector<Expr> args;
  std::vector<std::string> keywords;  ///< for calls: name of each argument, "" if positional
  ExprType type = ExprType::none;

  bool is(Kind k) const { return kind == k; }
  bool is_name(const std::string& name) const { return kind == Kind::name && text == name; }
};

/// Parses all of `text`. `source` starts the messages.
Expr parse_expr(const std::string& text, const Source& source);

/// Returns the fully parenthesized text. Equal texts mean equal expressions.
std::string to_text(const Expr& expr);

/// Calls visit on the expression and all its parts, outermost first.
template <class Visit>
void walk(const Expr& expr, const Visit& visit) {
  visit(expr);
  for (const Expr& arg : expr.args) walk(arg, visit);
}

}  // namespace halfstep::opgen

// Expressions of the records: one grammar for extents and rules, for `compute`, and for gradients.
//
//   or > and > not > comparison, in > + - > * / // % > unary - > call f(a, name=b), index a[i], member a.port
//
// Among the named arguments of a call can be `...`, which gradients give a meaning.
//
// Literals: 1, 1.0, 1.0e-5, 'text', [a, b], true, false.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opgen/source.h"

namespace halfstep::opgen {

/// What an expression of extents means; set by the checker.
enum class ExprType { none, integer, real, boolean, text, integers, reals, texts, dtype, port };

/// The name of the argument `...`.
constexpr const char* kRest = "...";

struct Expr {
  enum class Kind { integer, real, boolean, text, name, list, call, member, index, unary, binary };

  Kind kind = Kind::name;
  std::string text;     ///< name, function, operator, port of a member, or the text itself
  int64_t integer = 0;  ///< of an integer; 0 or 1 of a boolean
  double real = 0;
  std::vector<Expr> args;
  std::vector<std::string> keywords;  ///< of a call: the name of each argument, "" where positional
  ExprType type = ExprType::none;

  bool is(Kind k) const { return kind == k; }
  bool is_name(const std::string& name) const { return kind == Kind::name && text == name; }
};

/// Parses all of `text`; `source` starts messages.
Expr parse_expr(const std::string& text, const Source& source);

/// In the grammar above, fully parenthesized: equal texts mean equal expressions.
std::string to_text(const Expr& expr);

/// Calls visit on the expression and everything inside it, outermost first.
template <class Visit>
void walk(const Expr& expr, const Visit& visit) {
  visit(expr);
  for (const Expr& arg : expr.args) walk(arg, visit);
}

}  // namespace halfstep::opgen

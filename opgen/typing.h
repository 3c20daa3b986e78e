// Types of the expressions for extents and rules.
#pragma once

#include <map>
#include <string>

#include "opgen/record.h"

namespace halfstep::opgen {

/// Names that an expression may use, and what they are.
class Scope {
 public:
  /// Ports and attributes of `record`, which must outlive the scope.
  explicit Scope(const Record& record);
  void add_extent(const std::string& name) { names_[name] = ExprType::integer; }
  /// The outputs as ports too, for expressions of what is computed when the results are known.
  void add_outputs();
  bool contains(const std::string& name) const { return names_.contains(name); }

  /// Sets the type of every part of `expr`; throws where a name is unknown, a function misused, or types do not fit.
  void check(Expr& expr, const Source& source) const;
  /// As check, and the whole must be of `type`.
  void check_as(Expr& expr, ExprType type, const Source& source) const;
  /// A call of a shape function: arguments are ports and attributes; the name of the function is C++'s to know.
  void check_shape_function(Expr& call, const Source& source) const;

 private:
  const Port& port(const std::string& name) const;
  void check_name(Expr& expr, const Source& source) const;
  void check_call(Expr& expr, const Source& source) const;
  void check_unary(Expr& expr, const Source& source) const;
  void check_binary(Expr& expr, const Source& source) const;
  void check_member_of(Expr& expr, const Source& source) const;

  const Record& record_;
  std::map<std::string, ExprType> names_;
};

}  // namespace halfstep::opgen

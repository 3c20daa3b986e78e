// Type checks of expressions for extents and rules.
#pragma once

#include <map>
#include <string>

#include "opgen/record.h"

namespace halfstep::opgen {

/// Names that an expression may use, with their types.
class Scope {
 public:
  /// Contains the ports and attributes of `record`, which must outlive the scope.
  explicit Scope(const Record& record);
  void add_extent(const std::string& name) { names_[name] = ExprType::integer; }
  /// Adds the outputs as ports, for expressions evaluated when the results are known.
  void add_outputs();
  bool contains(const std::string& name) const { return names_.contains(name); }

  /// Sets the type of every part of `expr`. Throws for an unknown name, a misused function or mismatched types.
  void check(Expr& expr, const Source& source) const;
  /// Checks an expression that must have the type `type`. Throws as `check` does.
  void check_as(Expr& expr, ExprType type, const Source& source) const;
  /// Checks a call of a shape function, whose arguments are ports and attributes. The C++ compiler checks the function
  /// name.
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

// `unless` of a port: a condition over attributes that takes the port away.
//
//   is_test            not is_test            is_test or quant_axis >= 0
#pragma once

#include <string>

#include "opgen/record.h"

namespace halfstep::opgen {

/// Throws where the condition is not made of bool attributes, comparisons of int attributes with whole numbers, and,
/// or, not.
void check_condition(const Expr& condition, const Record& record, const Source& source);

/// Its value for a complete or incomplete set of attributes; those that are missing have their defaults.
bool holds(const Expr& condition, const Attributes& attributes, const Record& record);

/// A bool expression in C++ over `const Attributes& attributes`.
std::string condition_cpp(const Expr& condition, const Record& record);

/// An identifier, different for different conditions of an operator: "is_test_or_quant_axis_ge_0".
std::string condition_name(const Expr& condition);

}  // namespace halfstep::opgen

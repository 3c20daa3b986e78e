// `unless` of a port: a condition over attributes that removes the port.
//
//   is_test            not is_test            is_test or quant_axis >= 0
#pragma once

#include <string>

#include "opgen/record.h"

namespace halfstep::opgen {

/// Throws unless the condition consists of bool attributes, comparisons of int attributes with integers, and, or, not.
void check_condition(const Expr& condition, const Record& record, const Source& source);

/// Evaluates the condition. Missing attributes have their defaults.
bool holds(const Expr& condition, const Attributes& attributes, const Record& record);

/// Returns a bool expression in C++ over `const Attributes& attributes`.
std::string condition_cpp(const Expr& condition, const Record& record);

/// Returns an identifier that is unique among the conditions of an operator: "is_test_or_quant_axis_ge_0".
std::string condition_name(const Expr& condition);

}  // namespace halfstep::opgen

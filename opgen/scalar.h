// The scalar language of `compute` and of pointwise gradients: numbers, inputs, attributes, + - * /, comparisons, and
// where(cond, a, b), exp, sigmoid, abs, min, max, sqrt, rint.
#pragma once

#include <set>
#include <string>

#include "opgen/record.h"

namespace halfstep::opgen {

/// Whether `name` is a function of the scalar language.
bool is_scalar_function(const std::string& name);

/// Sets types: real for numbers, boolean for conditions. Throws for a name that is neither in `values` nor an int,
/// float or bool attribute of `record`, and for a number in place of a condition.
void check_scalar(Expr& expr, const std::set<std::string>& values, const Record& record, const Source& source);

/// Returns C++ on plain numbers of type T. Attributes are members of the function object.
std::string scalar_cpp(const Expr& expr, const Record& record);

/// Returns C on float32 variables with the names of the inputs. Attributes are written @NAME@.
std::string scalar_c(const Expr& expr, const Record& record);

/// Whether vector code approximates a function by a polynomial, so that its last bits differ from scalar code.
bool is_approximated(const Expr& expr);

/// Returns C++ on Highway vectors of f32 with tag `d`. Attributes are members of `f`.
std::string simd_cpp(const Expr& expr, const Record& record);

}  // namespace halfstep::opgen

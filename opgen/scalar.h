// The scalar language of `compute` and of pointwise gradients: numbers, inputs, attributes, + - * /, comparisons, and
// where(cond, a, b), exp, sigmoid, abs, min, max, sqrt, rint.
#pragma once

#include <set>
#include <string>

#include "opgen/record.h"

namespace halfstep::opgen {

/// Whether `name` is a function of the scalar language.
bool is_scalar_function(const std::string& name);

/// Sets types (real for numbers, boolean for conditions); throws where a name is neither in `values` nor an int, float
/// or bool attribute of `record`, or where a number stands for a condition.
void check_scalar(Expr& expr, const std::set<std::string>& values, const Record& record, const Source& source);

/// In C++ on plain numbers of type T; attributes are members of the function object.
std::string scalar_cpp(const Expr& expr, const Record& record);

/// In C on float32 numbers that are called as the inputs are; attributes are @NAME@.
std::string scalar_c(const Expr& expr, const Record& record);

/// Whether vectors have a polynomial of this function, whose last bits are others than those of numbers.
bool is_approximated(const Expr& expr);

/// In C++ on Highway vectors of f32 with tag `d`; attributes are members of `f`.
std::string simd_cpp(const Expr& expr, const Record& record);

}  // namespace halfstep::opgen

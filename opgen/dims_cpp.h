// Expressions of extents and rules in C++: integers are Dim, conditions are Truth.
#pragma once

#include <string>
#include <vector>

#include "opgen/record.h"

namespace halfstep::opgen {

std::string dims_cpp(const Expr& expr);

/// Returns a call such as shapes::broadcast(site, a.dims(), b.dims()).
std::string shape_call_cpp(const Expr& call, const Record& record);

/// Returns the values for the message of a failed rule: {"c", c}, {"rank(x)", rank_of(x)}.
std::vector<std::string> facts_cpp(const Expr& rule);

}  // namespace halfstep::opgen

// Pointwise operators as plain functions, for tables of codes. Generated from the records.
#pragma once

#include <string_view>

#include "halfstep/core/base/attribute.h"

namespace halfstep::arith {

/// A unary operator in float64.
struct PointwiseFunction {
  double (*value)(double x, const Attributes& attributes);
  /// Its derivative; nullptr where the record's gradient is not written as scalars.
  double (*slope)(double x, const Attributes& attributes);
};

/// nullptr when `op` is no unary pointwise operator.
const PointwiseFunction* find_function(std::string_view op);

}  // namespace halfstep::arith

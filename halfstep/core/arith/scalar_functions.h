// Pointwise operators as plain functions, used to build tables of codes. Generated from the records.
#pragma once

#include <string_view>

#include "halfstep/core/base/attribute.h"

namespace halfstep::arith {

/// A unary operator in float64.
struct PointwiseFunction {
  double (*value)(double x, const Attributes& attributes);
  /// Derivative; nullptr if the record's gradient is not a scalar expression.
  double (*slope)(double x, const Attributes& attributes);
};

/// Returns nullptr if `op` is not a unary pointwise operator.
const PointwiseFunction* find_function(std::string_view op);

}  // namespace halfstep::arith

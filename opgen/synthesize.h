// Synthesized operators: gradients of pointwise operators, defined by scalar expressions.
#pragma once

#include "opgen/record.h"

namespace halfstep::opgen {

/// Adds the operator NAME_grad_PORT that computes `gradient`, as a complete record, and returns a call of it. Throws if
/// inputs and outputs of `record` do not have the same shape, because the gradient of a broadcast needs operators.
Expr synthesize_gradient(Records& records, const Record& record, const Port& port, const NamedExpr& gradient);

}  // namespace halfstep::opgen

// Operators that no record spells out: gradients of pointwise operators, written as scalars.
#pragma once

#include "opgen/record.h"

namespace halfstep::opgen {

/// Adds the operator NAME_grad_PORT that computes `gradient`, complete like any other, and returns the call that stands
/// for it. Throws where inputs and outputs of `record` are not of one shape, since a broadcast gradient needs
/// operators.
Expr synthesize_gradient(Records& records, const Record& record, const Port& port, const NamedExpr& gradient);

}  // namespace halfstep::opgen

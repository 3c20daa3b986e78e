// Powers and quotients in operators that have codes.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// A power with a stored exponent becomes a function of one operand, or the product of a square. A power of a stored
/// positive number becomes an exponential. A quotient with a computed divisor becomes a product with the divisor's
/// reciprocal, or a function of the divisor if the dividend is a stored number. A root that only a reciprocal or a
/// quotient reads becomes part of it. Index arithmetic stays unchanged.
void power_forms(Model& model);

}  // namespace halfstep::passes

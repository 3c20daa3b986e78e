// The factors of a sum of two values of codes. docs/arithmetic.md, section 4.
#pragma once

#include <optional>

#include "halfstep/arith/multiplier.h"

namespace halfstep::arith {

bool is_power_of_two(double factor);

/// Two factors over one shift, which the larger sets; nothing where that is illegal, a factor is not positive, or in
/// power_of_two no power of two. The smaller may have any magnitude: below 2^(1-bits) of the larger it is rounded, at
/// last to 0.
std::optional<MultiplierPair> to_sum_factors(double a, double b, Requantization form, int bits);

}  // namespace halfstep::arith

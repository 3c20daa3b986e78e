#include "halfstep/kernels/quantized/sum.h"

#include <algorithm>

#include "halfstep/arith/sum_factors.h"

namespace halfstep::kernels {

Status sum_factors(const RequantizeRule& rule, float a_scale, float b_scale, float y_scale,
                   arith::MultiplierPair& factors) {
  const double a = arith::ratio_factor(a_scale, y_scale, rule.form);
  const double b = arith::ratio_factor(b_scale, y_scale, rule.form);
  if (const auto pair = arith::to_sum_factors(a, b, rule.form, rule.bits)) {
    factors = *pair;
    return {};
  }
  // What is wrong: the larger factor sets the shift, a smaller one need only be positive and perhaps a power of two.
  const bool shifts = rule.form == arith::Requantization::power_of_two;
  for (const double factor : {a, b}) {
    if (factor > 0.0 && factor < std::max(a, b) && (!shifts || arith::is_power_of_two(factor))) continue;
    arith::Scaling alone;
    if (Status status = rule.derive(factor, -1, alone); !status.ok()) return status;
  }
  return {};
}

}  // namespace halfstep::kernels

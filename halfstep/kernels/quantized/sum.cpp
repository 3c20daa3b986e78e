#include "halfstep/kernels/quantized/sum.h"

#include <algorithm>

namespace halfstep::kernels {

Status sum_factors(const RequantizeRule& rule, float a_scale, float b_scale, float y_scale,
                   arith::MultiplierPair& factors) {
  const double a = arith::ratio_factor(a_scale, y_scale, rule.form);
  const double b = arith::ratio_factor(b_scale, y_scale, rule.form);
  if (const auto pair = arith::to_multiplier_pair(a, b, rule.bits)) factors = *pair;
  // The larger factor sets the shift, so that a smaller one need only be positive; a power of two each must be.
  const bool each = rule.form == arith::Requantization::power_of_two;
  for (const double factor : {a, b}) {
    if (!each && factor > 0.0 && factor < std::max(a, b)) continue;
    arith::Scaling alone;
    if (Status status = rule.derive(factor, -1, alone); !status.ok()) return status;
  }
  return {};
}

}  // namespace halfstep::kernels

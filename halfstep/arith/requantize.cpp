#include "halfstep/arith/requantize.h"

namespace halfstep::arith {
namespace {

std::optional<Multiplier> to_factor(double factor, Requantization form, int bits) {
  if (form == Requantization::fixed_point) return to_multiplier(factor, bits);
  const auto k = to_shift(factor);
  return k ? std::optional(Multiplier{0, *k}) : std::nullopt;
}

}  // namespace

std::optional<Scaling> to_scaling(double factor, Requantization form, int bits, Activation activation, double alpha) {
  const auto positive = to_factor(factor, form, bits);
  const auto negative = activation == Activation::leaky_relu ? to_factor(factor * alpha, form, bits) : positive;
  if (!positive || !negative) return std::nullopt;
  return Scaling{form, *positive, *negative};
}

}  // namespace halfstep::arith

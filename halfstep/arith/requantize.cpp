#include "halfstep/arith/requantize.h"

#include <cmath>

namespace halfstep::arith {
namespace {

std::optional<Multiplier> to_factor(double factor, Requantization form, int bits) {
  if (form == Requantization::fixed_point) return to_multiplier(factor, bits);
  const auto k = to_shift(factor);
  return k ? std::optional(Multiplier{0, *k}) : std::nullopt;
}

std::optional<Scaling> to_float_scaling(double factor, Activation activation) {
  if (!std::isfinite(factor) || !(factor > 0.0) || activation == Activation::leaky_relu) return std::nullopt;
  return Scaling{Requantization::float32, {}, {}, static_cast<float>(factor), {}};
}

}  // namespace

std::optional<Scaling> to_scaling(double factor, Requantization form, int bits, Activation activation, double alpha) {
  if (keeps_scales(form)) return to_float_scaling(factor, activation);
  const auto positive = to_factor(factor, form, bits);
  const auto negative = activation == Activation::leaky_relu ? to_factor(factor * alpha, form, bits) : positive;
  if (!positive || !negative) return std::nullopt;
  return Scaling{form, *positive, *negative, 0.0F, {}};
}

}  // namespace halfstep::arith

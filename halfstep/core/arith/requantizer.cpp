#include "halfstep/core/arith/requantizer.h"

#include <fmt/format.h>

#include <cmath>

#include "halfstep/core/arith/errors.h"

namespace halfstep::arith {
namespace {

constexpr double wide(float scale) { return static_cast<double>(scale); }

std::string shortened(double factor) { return fmt::format("{:.6g}", factor); }

bool is_positive(double factor) { return std::isfinite(factor) && factor > 0.0; }

/// Whether the form can represent `factor`: power_of_two accepts only powers of two.
bool has_factor(Requantization form, double factor) { return !traits(form).powers_of_two || is_power_of_two(factor); }

std::optional<Multiplier> to_factor(const RequantizeRule& rule, double factor) {
  const auto multiplier = to_multiplier(factor, rule.multiplier_bits);
  if (!traits(rule.form).powers_of_two) return multiplier;
  const auto k = to_shift(factor);
  if (!k) return std::nullopt;
  return multiplier ? multiplier : shift_as_multiplier(*k);
}

Status no_factor(Requantization form, double factor, const char* of) {
  std::string expected = fmt::format("a shift of {} to {}", kMinShift, kMaxShift);
  if (traits(form).powers_of_two)
    expected = fmt::format("a power of two from 2^{} to 2^{}", -kMaxPowerShift, -kMinPowerShift);
  if (!is_positive(factor)) expected = "a positive number";
  return Status(errors::no_requantization_factor(of, shortened(factor), expected));
}

}  // namespace

SumRequantizer float_sum(Requantization form, const SumScales& s) {
  if (form == Requantization::float32)
    return FloatSum::of(s.a, s.a_zero_point, s.b, s.b_zero_point, s.y, s.y_zero_point);
  return EngineSum::of(s.a, s.a_zero_point, s.b, s.b_zero_point, s.y, s.y_zero_point);
}

Clamp RequantizeRule::clamp(float y_scale, int32_t y_zero_point) const {
  Clamp clamp = codes;
  if (activation != Activation::relu && activation != Activation::relu6) return clamp;
  clamp.low = std::clamp(y_zero_point, codes.low, codes.high);
  if (activation == Activation::relu) return clamp;
  const double six =
      traits(form).is_engine ? wide(std::nearbyint(6.0F * (1.0F / y_scale))) : std::nearbyint(6.0 / wide(y_scale));
  if (six + y_zero_point < clamp.high)
    clamp.high = static_cast<int32_t>(std::max<double>(clamp.low, six + y_zero_point));
  return clamp;
}

RequantizeRule RequantizeRule::backward() const {
  RequantizeRule rule = *this;
  if (traits(form).is_engine) rule.form = Requantization::float32;
  return rule;
}

Status RequantizeRule::fixed(double factor, Requantizer& result) const {
  const bool leaky = activation == Activation::leaky_relu;
  const auto positive = to_factor(*this, factor);
  if (!positive) return no_factor(form, factor, "");
  const auto negative = leaky ? to_factor(*this, factor * alpha) : positive;
  if (!negative) return no_factor(form, factor * alpha, " of negative accumulators");
  result = FixedScale{*positive, *negative, rounding};
  return {};
}

/// A shift by `factor`, after a multiplication by the integer of the average.
Status RequantizeRule::averaging(double factor, int64_t count, Requantizer& result) const {
  const auto k = to_shift(factor);
  Multiplier average = to_average(count, average_bits);
  average.shift += k.value_or(0);
  const int32_t missing = std::max(kMinShift - average.shift, 0);
  if (!k || average.shift > kMaxShift || missing > 31 - average_bits)
    return no_factor(form, factor / static_cast<double>(count), " of an average");
  average = {average.m << missing, average.shift + missing};
  result = FixedScale{average, average, rounding};
  return {};
}

Status RequantizeRule::floating(const FloatScale& scale, Requantizer& result) const {
  if (activation == Activation::leaky_relu)
    return Status(errors::requantization_lacks(traits(form).name, "leaky_relu"));
  if (!scale.is_legal())
    return Status(errors::float_requantization_factor(shortened(wide(scale.product())), shortened(wide(scale.bias))));
  result = scale;
  return {};
}

Status RequantizeRule::for_layer(const LayerScales& s, Requantizer& result) const {
  if (traits(form).keeps_scales) return floating(float_layer(form, s), result);
  return fixed(product_factor(form, s.x, s.w, s.y), result);
}

Status RequantizeRule::for_product(float a, float b, float y, Requantizer& result) const {
  if (traits(form).keeps_scales) return floating(float_product(form, a, b, y), result);
  return fixed(product_factor(form, a, b, y), result);
}

Status RequantizeRule::for_pool(float x, float y, int64_t count, Requantizer& result) const {
  if (traits(form).keeps_scales) return floating(float_pool(form, x, y, static_cast<float>(count)), result);
  if (traits(form).powers_of_two && average_bits > 0) return averaging(wide(x) / wide(y), count, result);
  return fixed(wide(x) / (wide(y) * static_cast<double>(count)), result);
}

Status RequantizeRule::for_rescale(float x, float y, Requantizer& result) const {
  if (traits(form).keeps_scales) return floating(float_rescale(form, x, y), result);
  return fixed(wide(x) / wide(y), result);
}

Status RequantizeRule::for_quotient(float y, Requantizer& result) const {
  if (traits(form).keeps_scales)
    return Status(errors::requantization_lacks(traits(form).name, "rule for a quotient of sums"));
  return fixed(1.0 / wide(y), result);
}

/// The larger factor sets the shift. The smaller one must be positive and, for power_of_two, a power of two. Only the
/// scale of a subtracted operand is negative.
Status RequantizeRule::for_sum(const SumScales& s, SumRequantizer& result) const {
  const float b_scale = std::fabs(s.b);
  Requantizer alone;
  if (traits(form).keeps_scales) {
    for (const float scale : {s.a, b_scale}) {
      if (Status status = floating({.factor = scale / s.y}, alone); !status.ok()) return status;
    }
    result = float_sum(form, s);
    return {};
  }
  const double a = wide(s.a) / wide(s.y), b = wide(b_scale) / wide(s.y);
  auto pair = to_multiplier_pair(a, b, multiplier_bits);
  if (pair && has_factor(form, a) && has_factor(form, b)) {
    if (s.b < 0.0F) pair->b = -pair->b;
    result = FixedSum{*pair, s.a_zero_point, s.b_zero_point, s.y_zero_point, rounding};
    return {};
  }
  for (const double factor : {a, b}) {
    if (factor > 0.0 && factor < std::max(a, b) && has_factor(form, factor)) continue;
    if (Status status = fixed(factor, alone); !status.ok()) return status;
  }
  return Status(errors::no_common_shift(shortened(a), shortened(b)));
}

double product_factor(Requantization form, float x_scale, float w_scale, float y_scale) {
  if (traits(form).keeps_scales) return wide(float_product_factor(x_scale, w_scale, y_scale));
  return wide(x_scale) * wide(w_scale) / wide(y_scale);
}

}  // namespace halfstep::arith

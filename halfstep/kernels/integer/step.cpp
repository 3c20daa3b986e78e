#include "halfstep/kernels/integer/step.h"

#include <cmath>

namespace halfstep::kernels {
namespace {

arith::Multiplier entry(const int32_t* multiplier, const int32_t* shift, int64_t i) {
  return {multiplier != nullptr ? multiplier[i] : 0, shift[i]};
}

bool is_legal(arith::Multiplier step, arith::Requantization form) {
  if (form == arith::Requantization::power_of_two)
    return step.shift >= arith::kMinPowerShift && step.shift <= arith::kMaxPowerShift;
  return step.m >= 0 && step.shift >= arith::kMinShift && step.shift <= arith::kMaxShift;
}

Status illegal(arith::Multiplier step, arith::Requantization form, int64_t channel) {
  if (form == arith::Requantization::power_of_two)
    return Status(fmt::format("channel {}: shift is {}, expected {} to {}", channel, step.shift, arith::kMinPowerShift,
                              arith::kMaxPowerShift));
  return Status(fmt::format("channel {}: multiplier is {} and shift {}, expected 0 to 2^31 - 1 and {} to {}", channel,
                            step.m, step.shift, arith::kMinShift, arith::kMaxShift));
}

}  // namespace

Verdict accept_filled(const Problem& problem) {
  for (const auto types : {problem.in, problem.out}) {
    for (const Type* type : types) {
      if (type != nullptr && count_elements(type->dims) == 0) return refuse("an operand is empty");
    }
  }
  return accept();
}

arith::Scaling StoredSteps::scaling(int64_t channel) const {
  const int64_t i = count == 1 ? 0 : channel;
  if (form == arith::Requantization::float32)
    return {form, {}, {}, arith::float_product_factor(x_scale, w_scale[i], y_scale), {}};
  if (arith::is_engine(form))
    return arith::Scaling::of(
        form, arith::engine_layer_step(form, engine_layer, x_scale, w_scale[i], y_scale, bias[channel]));
  const arith::Multiplier positive = entry(multiplier, shift, i);
  return {
      form, positive, negative_shift != nullptr ? entry(negative_multiplier, negative_shift, i) : positive, 0.0F, {}};
}

Status StoredSteps::check(int64_t channels) const {
  for (int64_t i = 0; i < (bias != nullptr ? channels : count); ++i) {
    const arith::Scaling step = scaling(i);
    if (arith::is_engine(form)) {
      if (step.engine.is_legal()) continue;
      return Status(
          fmt::format("channel {}: w_scale is {} and the bias {}, expected a positive number and a finite one", i,
                      w_scale[count == 1 ? 0 : i], bias[i]));
    }
    if (form == arith::Requantization::float32) {
      if (std::isfinite(step.factor) && step.factor > 0.0F) continue;
      return Status(fmt::format("channel {}: factor is {}, expected a positive number", i, step.factor));
    }
    if (!is_legal(step.positive, form)) return illegal(step.positive, form, i);
    if (!is_legal(step.negative, form)) return illegal(step.negative, form, i);
  }
  return {};
}

}  // namespace halfstep::kernels

#include "halfstep/engine/kernels/codes/integer/step.h"

#include <fmt/format.h>

#include "halfstep/engine/kernels/errors.h"

namespace halfstep::kernels {
namespace {

arith::Multiplier entry(const int32_t* multiplier, const int32_t* shift, int64_t i) {
  return {multiplier != nullptr ? multiplier[i] : 0, shift[i]};
}

bool is_legal(arith::Multiplier step, arith::Requantization form) {
  if (arith::traits(form).powers_of_two)
    return step.shift >= arith::kMinPowerShift && step.shift <= arith::kMaxPowerShift;
  return step.m >= 0 && step.shift >= arith::kMinShift && step.shift <= arith::kMaxShift;
}

Status illegal(arith::Multiplier step, arith::Requantization form, int64_t channel) {
  if (arith::traits(form).powers_of_two)
    return Status(
        errors::stored_step_out_of_range(channel, fmt::format("shift {}", step.shift),
                                         fmt::format("{} to {}", arith::kMinPowerShift, arith::kMaxPowerShift)));
  return Status(
      errors::stored_step_out_of_range(channel, fmt::format("multiplier {} and shift {}", step.m, step.shift),
                                       fmt::format("0 to 2^31 - 1 and {} to {}", arith::kMinShift, arith::kMaxShift)));
}

}  // namespace

arith::SumRequantizer stored_sum(const IntegerAdd& a) {
  const auto whole = [](int64_t v) { return static_cast<int32_t>(v); };
  const arith::SumScales scales{float_of(a.a_scale),   float_of(a.b_scale),   float_of(a.y_scale),
                                whole(a.a_zero_point), whole(a.b_zero_point), whole(a.y_zero_point)};
  if (arith::traits(form_of(a)).keeps_scales) return arith::float_sum(form_of(a), scales);
  return arith::FixedSum{{whole(a.a_multiplier), whole(a.b_multiplier), whole(a.shift)},
                         scales.a_zero_point,
                         scales.b_zero_point,
                         scales.y_zero_point,
                         shift_rounding(a)};
}

arith::Requantizer StoredSteps::requantizer(int64_t channel) const {
  const int64_t i = count == 1 ? 0 : channel;
  if (arith::traits(form).keeps_scales)
    return arith::float_layer(form,
                              {x_scale, w_scale[i], y_scale, bias != nullptr ? bias[channel] : 0.0F, engine_layer});
  const auto factor = [&](const int32_t* m, const int32_t* k) { return arith::from_stored(form, entry(m, k, i)); };
  const arith::Multiplier positive = factor(multiplier, shift);
  const arith::Multiplier negative = negative_shift != nullptr ? factor(negative_multiplier, negative_shift) : positive;
  return arith::FixedScale{positive, negative, rounding};
}

Status StoredSteps::check(int64_t channels) const {
  for (int64_t i = 0; i < (bias != nullptr ? channels : count); ++i) {
    if (arith::traits(form).keeps_scales) {
      if (std::get<arith::FloatScale>(requantizer(i)).is_legal()) continue;
      return Status(errors::stored_step_out_of_range(
          i, fmt::format("w_scale {} and bias {}", w_scale[count == 1 ? 0 : i], bias != nullptr ? bias[i] : 0.0F),
          "a positive w_scale and a finite bias"));
    }
    const auto of = [&](const int32_t* m, const int32_t* k) { return entry(m, k, i); };
    if (!is_legal(of(multiplier, shift), form)) return illegal(of(multiplier, shift), form, i);
    if (negative_shift == nullptr || is_legal(of(negative_multiplier, negative_shift), form)) continue;
    return illegal(of(negative_multiplier, negative_shift), form, i);
  }
  return {};
}

}  // namespace halfstep::kernels

// From accumulators to codes, with the integers that a program stores.
#pragma once

#include <span>

#include "halfstep/core/arith/requantizer.h"
#include "halfstep/engine/kernels/codes/rule.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {

/// Port of the operand whose extents all operands that scale accumulators have.
inline int step_port(arith::Requantization form) {
  return arith::traits(form).keeps_scales ? IntegerConv2d::in::w_scale : IntegerConv2d::in::shift;
}

/// The operands that scale a layer's accumulators. Each has `count` entries: one for all channels, or one for each.
struct StoredSteps {
  arith::Requantization form = arith::Requantization::fixed_point;
  arith::ShiftRounding rounding = {};
  int64_t count = 1;
  const int32_t* shift = nullptr;
  const int32_t* multiplier = nullptr;           ///< fixed_point only
  const int32_t* negative_shift = nullptr;       ///< for acc < 0, needed by leaky_relu. May be null
  const int32_t* negative_multiplier = nullptr;  ///< for acc < 0, fixed_point only. May be null
  const float* w_scale = nullptr;                ///< only in forms that keep scales
  float x_scale = 1.0F, y_scale = 1.0F;
  arith::EngineLayer engine_layer;
  const float* bias = nullptr;  ///< float bias by channel, if an engine adds it. Integer biases are part of
                                ///< accumulators

  arith::Requantizer requantizer(int64_t channel) const;
  /// Returns an error for the first of `channels` whose shift, multiplier, scale or bias is outside the ranges of
  /// requantization.
  Status check(int64_t channels) const;
};

/// The form and the clamp from an operator's attributes.
template <class Attributes>
arith::Requantization form_of(const Attributes& attributes) {
  const auto form = arith::parse_requantization(attributes.requantize);
  HS_CHECK(form.has_value());
  return *form;
}
template <class Attributes>
arith::Clamp clamp_of(const Attributes& attributes) {
  return {static_cast<int32_t>(attributes.code_min), static_cast<int32_t>(attributes.code_max)};
}

/// A scale stored in an attribute. The double holds a float32 value.
inline float float_of(double scale) { return static_cast<float>(scale); }

/// The scale of an operator with one factor.
inline arith::FixedScale stored_scale(int64_t multiplier, int64_t shift, arith::ShiftRounding rounding) {
  const arith::Multiplier factor{static_cast<int32_t>(multiplier), static_cast<int32_t>(shift)};
  return {factor, factor, rounding};
}

arith::SumRequantizer stored_sum(const IntegerAdd& a);

/// Form and scales of the attributes, and facts of the layer from the weights' extents.
struct StepForm {
  arith::Requantization form = arith::Requantization::fixed_point;
  arith::ShiftRounding rounding = {};
  float x_scale = 1.0F, y_scale = 1.0F;
  arith::EngineLayer engine_layer;
};
template <class Attributes>
StepForm step_form(const Attributes& attributes, std::span<const int64_t> weights) {
  StepForm form{
      form_of(attributes), shift_rounding(attributes), float_of(attributes.x_scale), float_of(attributes.y_scale), {}};
  if constexpr (requires { attributes.groups; })
    form.engine_layer = arith::EngineLayer::convolution(attributes.groups, weights[1], weights[0]);
  return form;
}

/// data(position) is the operand's contents or null. All layers have their operands at equal positions.
template <class Data>
StoredSteps stored_steps(const StepForm& form, int64_t count, Data&& data) {
  using In = IntegerConv2d::in;
  const auto at = [&](int position) { return static_cast<const int32_t*>(data(position)); };
  return {form.form,
          form.rounding,
          count,
          at(In::shift),
          at(In::multiplier),
          at(In::negative_shift),
          at(In::negative_multiplier),
          static_cast<const float*>(data(In::w_scale)),
          form.x_scale,
          form.y_scale,
          form.engine_layer,
          arith::traits(form.form).is_engine ? static_cast<const float*>(data(In::b)) : nullptr};
}

}  // namespace halfstep::kernels

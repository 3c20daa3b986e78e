// From accumulator to codes with the integers that a program stores.
#pragma once

#include <span>

#include "halfstep/core/arith/requantizer.h"
#include "halfstep/engine/kernels/codes/rule.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {

/// The port that all the others that scale accumulators have the extents of.
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
  const int32_t* negative_shift = nullptr;       ///< for acc < 0 where present, as leaky_relu needs it
  const int32_t* negative_multiplier = nullptr;  ///< likewise, fixed_point only
  const float* w_scale = nullptr;                ///< of forms that keep scales
  float x_scale = 1.0F, y_scale = 1.0F;
  arith::EngineLayer engine_layer;
  const float* bias = nullptr;  ///< of every channel, where an engine adds it; whole biases are part of accumulators

  arith::Requantizer requantizer(int64_t channel) const;
  /// Names the first of `channels` whose shift, multiplier, scale or bias no requantization has.
  Status check(int64_t channels) const;
};

/// The form and the clamp of either operator's attributes.
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

/// A scale that an attribute holds: float32 contents in a double.
inline float float_of(double scale) { return static_cast<float>(scale); }

/// What an operator with one factor states.
inline arith::FixedScale stored_scale(int64_t multiplier, int64_t shift, arith::ShiftRounding rounding) {
  const arith::Multiplier factor{static_cast<int32_t>(multiplier), static_cast<int32_t>(shift)};
  return {factor, factor, rounding};
}

arith::SumRequantizer stored_sum(const IntegerAdd& a);

/// Form and scales of the attributes, and what the weights' extents say of the layer.
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

/// data(position) is the operand's contents or null. All layers have their ports at the same positions.
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

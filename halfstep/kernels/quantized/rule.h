// From scales and attributes to the numbers that requantize. docs/arithmetic.md, sections 4 and 5.
#pragma once

#include "halfstep/arith/requantize.h"
#include "halfstep/base/attribute.h"
#include "halfstep/base/status.h"

namespace halfstep::kernels {

/// Attributes that every requantizing operator has.
struct RequantizeRule {
  arith::Requantization form = arith::Requantization::fixed_point;
  arith::Activation activation = arith::Activation::none;
  int bits = 31;
  double alpha = 0.01;  ///< of leaky_relu
  int32_t code_min = 0;
  int32_t code_max = 255;

  arith::Clamp clamp(float y_scale, int32_t y_zero_point) const {
    return arith::fused_clamp(activation, y_scale, y_zero_point, code_min, code_max, form);
  }
  /// The Scaling of `factor`, or why there is none; `channel` -1: of the whole tensor.
  Status derive(double factor, int64_t channel, arith::Scaling& scaling) const;
  /// The Scaling of an engine's step, or what is wrong with it.
  Status derive(const arith::EngineStep& step, int64_t channel, arith::Scaling& scaling) const;
};

/// `Typed` is the generated attribute struct of an operator that requantizes.
template <class Typed>
RequantizeRule requantize_rule(const Typed& attributes) {
  RequantizeRule rule;
  const auto activation = arith::parse_activation(attributes.activation);
  HS_CHECK(activation.has_value());
  rule.activation = *activation;
  if constexpr (requires { attributes.alpha; }) rule.alpha = attributes.alpha;
  if constexpr (requires { attributes.requantize; }) {
    const auto form = arith::parse_requantization(attributes.requantize);
    HS_CHECK(form.has_value());
    rule.form = *form;
    rule.bits = static_cast<int>(attributes.multiplier_bits);
  }
  if constexpr (requires { attributes.code_min; }) {
    rule.code_min = static_cast<int32_t>(attributes.code_min);
    rule.code_max = static_cast<int32_t>(attributes.code_max);
  }
  return rule;
}

/// What a reference keeps of its attributes.
template <class Typed>
struct RuleState {
  explicit RuleState(const Attributes& all) : attributes(all), rule(requantize_rule(attributes)) {}
  Typed attributes;
  RequantizeRule rule;
};

/// Error where a zero point is not among the codes of a tensor.
Status check_zero_point(int32_t zero_point, bool wide_codes);

}  // namespace halfstep::kernels

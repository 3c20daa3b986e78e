// Converts attributes to the rule of a requantization (docs/arithmetic.md, sections 4 and 5).
#pragma once

#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/dtype.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

using arith::RequantizeRule;

/// The attribute of operators that have one, otherwise the default.
template <class Typed>
arith::ShiftRounding shift_rounding(const Typed& attributes) {
  if constexpr (requires { attributes.shift_rounding; }) {
    const auto rounding = arith::parse_shift_rounding(attributes.shift_rounding);
    HS_CHECK(rounding.has_value());
    return *rounding;
  }
  return {};
}

/// `Typed` is the generated attribute struct of an operator that requantizes.
template <class Typed>
RequantizeRule requantize_rule(const Typed& attributes) {
  RequantizeRule rule;
  if constexpr (requires { attributes.activation; }) {
    const auto activation = arith::parse_activation(attributes.activation);
    HS_CHECK(activation.has_value());
    rule.activation = *activation;
  }
  if constexpr (requires { attributes.alpha; }) rule.alpha = attributes.alpha;
  if constexpr (requires { attributes.requantize; }) {
    const auto form = arith::parse_requantization(attributes.requantize);
    HS_CHECK(form.has_value());
    rule.form = *form;
    rule.multiplier_bits = static_cast<int>(attributes.multiplier_bits);
    rule.rounding = shift_rounding(attributes);
  }
  if constexpr (requires { attributes.average_bits; }) rule.average_bits = static_cast<int>(attributes.average_bits);
  if constexpr (requires { attributes.code_min; })
    rule.codes = {static_cast<int32_t>(attributes.code_min), static_cast<int32_t>(attributes.code_max)};
  return rule;
}

/// State of a reference kernel.
template <class Typed>
struct RuleState {
  explicit RuleState(const Attributes& all) : attributes(all), rule(requantize_rule(attributes)) {}
  Typed attributes;
  RequantizeRule rule;
};

/// Returns an error if a zero point is not a code of the type.
Status check_zero_point(int32_t zero_point, DType codes);

/// Refuses operands and results without elements, which tiles do not support.
Verdict accept_filled(const Problem& problem);

}  // namespace halfstep::kernels

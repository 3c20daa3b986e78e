// From accumulator to codes with the integers that a program stores.
#pragma once

#include "halfstep/arith/requantize.h"
#include "halfstep/kernels/kernel.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {

/// The operands that scale a layer's accumulators. Each has `count` entries: one for all channels, or one for each.
struct StoredSteps {
  arith::Requantization form = arith::Requantization::fixed_point;
  int64_t count = 1;
  const int32_t* shift = nullptr;
  const int32_t* multiplier = nullptr;           ///< fixed_point only
  const int32_t* negative_shift = nullptr;       ///< for acc < 0 where present, as leaky_relu needs it
  const int32_t* negative_multiplier = nullptr;  ///< likewise, fixed_point only

  arith::Scaling scaling(int64_t channel) const;
  /// Names the first channel whose shift or multiplier no requantization has.
  Status check() const;
};

/// data(position) is the operand's contents or null. integer_conv2d and integer_linear have their ports at the same
/// positions.
template <class Data>
StoredSteps stored_steps(arith::Requantization form, int64_t count, Data&& data) {
  using In = IntegerConv2d::in;
  const auto at = [&](int position) { return static_cast<const int32_t*>(data(position)); };
  return {form, count, at(In::shift), at(In::multiplier), at(In::negative_shift), at(In::negative_multiplier)};
}

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

}  // namespace halfstep::kernels

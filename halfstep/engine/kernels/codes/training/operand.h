// Operands and results of operators on codes whose scales are operands too.
#pragma once

#include <span>

#include "halfstep/core/arith/code.h"
#include "halfstep/engine/kernels/codes/rule.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

/// A tensor of codes with its scale and zero point.
struct Operand {
  Operand(const Call& call, int codes, int scale_at, int zero_point_at)
      : scale(*call.in[scale_at].as<const float>()),
        zero_point(*call.in[zero_point_at].as<const int32_t>()),
        view(call.in[codes]) {}
  float scale;
  int32_t zero_point;
  const ConstView& view;

  int64_t steps(int64_t code) const { return code - zero_point; }
  float real(int64_t code) const { return arith::real_of(static_cast<int32_t>(code), scale, zero_point); }
};

/// The operands y_scale and y_zero_point with the rule's clamp.
template <class Typed>
struct Target {
  Target(const Call& call, const RequantizeRule& rule)
      : scale(*call.in[Typed::in::y_scale].template as<const float>()),
        zero_point(*call.in[Typed::in::y_zero_point].template as<const int32_t>()),
        range(rule.clamp(scale, zero_point)) {}
  float scale;
  int32_t zero_point;
  arith::Clamp range;

  int32_t clamp(int64_t code) const { return range.apply(code); }
};

/// The bias of a normalization. Empty if there is none.
template <class Typed>
std::span<const float> bias_of(const Call& call) {
  if constexpr (requires { Typed::in::bias; }) {
    const ConstView& bias = call.in[Typed::in::bias];
    if (bias.present()) return {bias.as<const float>(), static_cast<size_t>(bias.size())};
  }
  return {};
}

}  // namespace halfstep::kernels

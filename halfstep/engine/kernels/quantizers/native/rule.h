// Converts the attributes that quantizers share into the types of arithmetic.
#pragma once

#include "halfstep/core/arith/code.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {

/// The rule of a quantizer. `Typed` is its generated attribute struct with code_min, code_max, method and rounding.
template <class Typed>
arith::CodeRule rule_of(const Typed& attributes) {
  const auto rounding = arith::parse_rounding(attributes.rounding);
  HS_CHECK(rounding.has_value());
  return {static_cast<int32_t>(attributes.code_min), static_cast<int32_t>(attributes.code_max),
          attributes.method == "reciprocal", *rounding};
}

/// Whether x, scale, zero_point and the result have the positions that kernels of fake_quantize expect.
template <class Typed>
inline constexpr bool kHasPortsOfFakeQuantize =
    Typed::in::x == FakeQuantize::in::x&& Typed::in::scale == FakeQuantize::in::scale&& Typed::in::zero_point ==
    FakeQuantize::in::zero_point&& Typed::out::out_ == FakeQuantize::out::out_;

}  // namespace halfstep::kernels

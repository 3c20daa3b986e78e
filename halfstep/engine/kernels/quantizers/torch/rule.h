// PyTorch's quantization of one element and what goes back through it: docs/arithmetic.md, section 10. `C` is the type
// of computation: float, or double for f64 elements.
#pragma once

#include <cmath>
#include <cstdint>

#include "halfstep/core/base/host_device.h"

namespace halfstep::kernels::torch {

/// Legal codes, as whole numbers that a float32 holds exactly.
struct Grid {
  float low = 0.0F, high = 255.0F;
};

/// What one channel is quantized with.
struct Parameters {
  float scale = 1.0F, inverse = 1.0F, zero_point = 0.0F;

  HS_HOST_DEVICE static Parameters of(float scale, float zero_point) { return {scale, 1.0F / scale, zero_point}; }
};

/// From here on a code is outside int64, and a clamp on integers takes it for the lowest.
inline constexpr float kInt64Limit = 0x1p63F;

/// The code before the clamp, the zero point added after rounding. Never -0 while the zero point is not.
template <class C>
HS_HOST_DEVICE C code_of(C x, const Parameters& p) {
  return std::nearbyint(x * static_cast<C>(p.inverse)) + static_cast<C>(p.zero_point);
}

/// The code before the clamp, the zero point added before rounding, in one rounding with the product.
template <class C>
HS_HOST_DEVICE C fused_code_of(C x, const Parameters& p) {
  return std::nearbyint(std::fma(x, static_cast<C>(p.inverse), static_cast<C>(p.zero_point)));
}

/// Edges included; NaN is outside.
template <class C>
HS_HOST_DEVICE bool is_inside(C code, const Grid& grid) {
  return code >= static_cast<C>(grid.low) && code <= static_cast<C>(grid.high);
}

/// NaN gives the lowest code.
template <class C>
HS_HOST_DEVICE C clamp(C code, const Grid& grid) {
  const C raised = code > static_cast<C>(grid.low) ? code : static_cast<C>(grid.low);
  return raised < static_cast<C>(grid.high) ? raised : static_cast<C>(grid.high);
}

/// As a clamp on int64: so do +inf and everything else that int64 does not hold. Never -0.
template <class C>
HS_HOST_DEVICE C clamp_integer(C code, const Grid& grid) {
  return clamp(code < static_cast<C>(kInt64Limit) ? code : static_cast<C>(grid.low), grid) + C(0);
}

/// One scale for the tensor. The result has the precision of float32 in f64 too.
struct TensorRule {
  template <class C>
  HS_HOST_DEVICE static C code(C x, const Parameters& p) {
    return code_of(x, p);
  }
  template <class C>
  HS_HOST_DEVICE static C real(C code, const Parameters& p, const Grid& grid) {
    return (static_cast<float>(clamp(code, grid)) - p.zero_point) * p.scale;
  }
};

/// A scale and a whole zero point for each channel.
struct ChannelRule {
  template <class C>
  HS_HOST_DEVICE static C code(C x, const Parameters& p) {
    return code_of(x, p);
  }
  template <class C>
  HS_HOST_DEVICE static C real(C code, const Parameters& p, const Grid& grid) {
    return (clamp_integer(code, grid) - static_cast<C>(p.zero_point)) * static_cast<C>(p.scale);
  }
};

/// A scale and a float zero point for each channel. The product is formed in float64 and rounded once.
struct FloatZeroRule {
  template <class C>
  HS_HOST_DEVICE static C code(C x, const Parameters& p) {
    return fused_code_of(x, p);
  }
  template <class C>
  HS_HOST_DEVICE static C real(C code, const Parameters& p, const Grid& grid) {
    return static_cast<C>((static_cast<double>(clamp_integer(code, grid)) - p.zero_point) * p.scale);
  }
};

template <class Rule, class C>
HS_HOST_DEVICE C fake_quantize(C x, const Parameters& p, const Grid& grid) {
  return Rule::real(Rule::code(x, p), p, grid);
}

/// A product: outside, a negative gradient becomes -0 and NaN stays.
template <class C>
HS_HOST_DEVICE C masked(C out_grad, bool inside) {
  return out_grad * static_cast<C>(inside ? 1 : 0);
}

/// What an element of a learned quantizer adds to the gradients.
template <class C>
struct Terms {
  C x, scale, zero_point;
};

/// The zero point is added before rounding here, and codes outside int64, +inf too, count as the low side.
template <class C>
HS_HOST_DEVICE Terms<C> learnable_terms(C x, C out_grad, const Parameters& p, const Grid& grid, float factor) {
  const auto zero = static_cast<C>(p.zero_point);
  const auto scale = static_cast<C>(p.scale);
  const auto weight = static_cast<C>(factor);
  const C fused = fused_code_of(x, p);
  const bool inside = is_inside(fused, grid);
  const C steps = clamp_integer(fused, grid) - zero;
  const C slope = inside ? out_grad * std::fma(steps, scale, -x) * static_cast<C>(p.inverse) : out_grad * steps;
  return {masked(out_grad, inside), slope * weight, inside ? C(0) : out_grad * -scale * weight};
}

// Zero points of the learned quantizers; NaN is refused before.

HS_HOST_DEVICE inline float nearest_zero_point(float raw, const Grid& grid) {
  return clamp(std::nearbyint(raw), grid) + 0.0F;
}
/// The zero point of the per-tensor backward pass: wrong for negative whole numbers, -15 gives -14, as PyTorch's is.
HS_HOST_DEVICE inline float truncated_zero_point(float raw, const Grid& grid) {
  return clamp(std::trunc(raw + 0.5F), grid) + 0.0F;
}

}  // namespace halfstep::kernels::torch

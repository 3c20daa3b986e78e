// PyTorch's quantization of one element and its gradients (docs/arithmetic.md, section 10). `C` is the type of
// computation: double for f64 elements, otherwise float.
#pragma once

#include <cmath>
#include <cstdint>

#include "halfstep/core/base/host_device.h"

namespace halfstep::kernels::torch {

/// Lowest and highest code, as integers that float32 holds exactly.
struct Grid {
  float low = 0.0F, high = 255.0F;
};

/// Quantization parameters of one channel.
struct Parameters {
  float scale = 1.0F, inverse = 1.0F, zero_point = 0.0F;

  HS_HOST_DEVICE static Parameters of(float scale, float zero_point) { return {scale, 1.0F / scale, zero_point}; }
};

/// Codes from here on are outside int64. A clamp on integers turns them into the lowest code.
inline constexpr float kInt64Limit = 0x1p63F;

/// The code before the clamp. The zero point is added after rounding. The result is -0 only if the zero point is -0.
template <class C>
HS_HOST_DEVICE C code_of(C x, const Parameters& p) {
  return std::nearbyint(x * static_cast<C>(p.inverse)) + static_cast<C>(p.zero_point);
}

/// The code before the clamp. The zero point is added before rounding, fused with the product.
template <class C>
HS_HOST_DEVICE C fused_code_of(C x, const Parameters& p) {
  return std::nearbyint(std::fma(x, static_cast<C>(p.inverse), static_cast<C>(p.zero_point)));
}

/// Whether low <= code <= high. False for NaN.
template <class C>
HS_HOST_DEVICE bool is_inside(C code, const Grid& grid) {
  return code >= static_cast<C>(grid.low) && code <= static_cast<C>(grid.high);
}

/// Clamps the code. NaN becomes the lowest code.
template <class C>
HS_HOST_DEVICE C clamp(C code, const Grid& grid) {
  const C raised = code > static_cast<C>(grid.low) ? code : static_cast<C>(grid.low);
  return raised < static_cast<C>(grid.high) ? raised : static_cast<C>(grid.high);
}

/// Clamps like PyTorch's clamp on int64: +inf and everything else outside int64 become the lowest code. Never returns
/// -0.
template <class C>
HS_HOST_DEVICE C clamp_integer(C code, const Grid& grid) {
  return clamp(code < static_cast<C>(kInt64Limit) ? code : static_cast<C>(grid.low), grid) + C(0);
}

/// One scale for the tensor. The result has float32 precision even in f64.
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

/// A scale and an integer zero point for each channel.
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

/// A scale and a float zero point for each channel. The product is computed in float64 and rounded once.
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

/// Gradient of a clamp as a product. Outside, a negative gradient becomes -0, and NaN stays NaN.
template <class C>
HS_HOST_DEVICE C masked(C out_grad, bool inside) {
  return out_grad * static_cast<C>(inside ? 1 : 0);
}

/// Contributions of one element of a learned quantizer to the gradients.
template <class C>
struct Terms {
  C x, scale, zero_point;
};

/// Adds the zero point before rounding. Codes outside int64, including +inf, count as below the range.
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

// Zero points of the learned quantizers. NaN is refused earlier.

HS_HOST_DEVICE inline float nearest_zero_point(float raw, const Grid& grid) {
  return clamp(std::nearbyint(raw), grid) + 0.0F;
}
/// The zero point of the per-tensor backward pass. Negative integers are wrong, as in PyTorch: -15 becomes -14.
HS_HOST_DEVICE inline float truncated_zero_point(float raw, const Grid& grid) {
  return clamp(std::trunc(raw + 0.5F), grid) + 0.0F;
}

}  // namespace halfstep::kernels::torch

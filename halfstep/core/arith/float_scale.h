// Requantization in float32, as in onnxruntime on processors with FMA and in PyTorch's x86 engines. docs/arithmetic.md,
// sections 4, 9 and 10. Every operation is one float32 operation, in the order written.
#pragma once

#include <cmath>
#include <cstdint>

#include "halfstep/core/arith/requantization.h"
#include "halfstep/core/base/host_device.h"

namespace halfstep::arith {

/// Saturation bound of steps. It exceeds every code and zero point, and adding a zero point stays inside int32.
inline constexpr float kMostSteps = 0x1p30F;

/// Rounds to the nearest integer, half to even.
HS_HOST_DEVICE inline int32_t whole_steps(float steps) {
  const float saturated = steps > kMostSteps ? kMostSteps : steps < -kMostSteps ? -kMostSteps : steps;
  return static_cast<int32_t>(std::nearbyint(saturated));
}

/// Maps an exact sum to a code. Factors that a form does not use are 1 and an unused bias is 0. Neither changes the
/// result.
struct FloatScale {
  float scale = 1.0F, channel_scale = 1.0F, bias = 0.0F, factor = 1.0F;
  bool zero_inside = false;  ///< the zero point is added before rounding

  HS_HOST_DEVICE float steps(int64_t acc) const {
    return (static_cast<float>(acc) * scale * channel_scale + bias) * factor;
  }
  /// Returns the code before the clamp.
  HS_HOST_DEVICE int32_t code(int64_t acc, int32_t zero_point) const {
    if (zero_inside) return whole_steps(steps(acc) + static_cast<float>(zero_point));
    return whole_steps(steps(acc)) + zero_point;
  }
  /// Returns the total factor of a sum.
  HS_HOST_DEVICE float product() const { return scale * channel_scale * factor; }
  /// Whether all numbers are finite and the total factor is positive.
  HS_HOST_DEVICE bool is_legal() const {
    return std::isfinite(product()) && product() > 0.0F && std::isfinite(scale) && std::isfinite(channel_scale) &&
           std::isfinite(factor) && std::isfinite(bias);
  }
};

/// Addition of two quantized values as in onnxruntime. All terms that do not depend on the element are precomputed.
struct FloatSum {
  float a_ratio = 1.0F, b_ratio = 1.0F, offset = 0.0F;

  HS_HOST_DEVICE static FloatSum of(float a_scale, int32_t a_zero_point, float b_scale, int32_t b_zero_point,
                                    float y_scale, int32_t y_zero_point) {
    const float a_ratio = a_scale / y_scale, b_ratio = b_scale / y_scale;
    const float zero = std::fma(a_ratio, static_cast<float>(a_zero_point), b_ratio * static_cast<float>(b_zero_point));
    return {a_ratio, b_ratio, static_cast<float>(y_zero_point) - zero};
  }
  /// Returns the code before rounding, zero point included.
  HS_HOST_DEVICE float steps(int32_t a, int32_t b) const {
    return std::fma(static_cast<float>(a), a_ratio, std::fma(static_cast<float>(b), b_ratio, offset));
  }
  /// Returns the code before the clamp.
  HS_HOST_DEVICE int32_t code(int32_t a, int32_t b) const { return whole_steps(steps(a, b)); }
};

/// Addition of two quantized values as in PyTorch: dequantize both, add, and quantize with the reciprocal of the scale.
struct EngineSum {
  float a_scale = 1.0F, a_offset = 0.0F, b_scale = 1.0F, b_offset = 0.0F, inverse = 1.0F;
  int32_t zero_point = 0;

  HS_HOST_DEVICE static EngineSum of(float a_scale, int32_t a_zero_point, float b_scale, int32_t b_zero_point,
                                     float y_scale, int32_t y_zero_point) {
    const float a_zero = a_scale * static_cast<float>(a_zero_point),
                b_zero = b_scale * static_cast<float>(b_zero_point);
    return {a_scale, -a_zero, b_scale, -b_zero, 1.0F / y_scale, y_zero_point};
  }
  /// Returns the code before the clamp.
  HS_HOST_DEVICE int32_t code(int32_t a, int32_t b) const {
    const float sum =
        std::fma(static_cast<float>(a), a_scale, a_offset) + std::fma(static_cast<float>(b), b_scale, b_offset);
    return whole_steps(sum * inverse) + zero_point;
  }
};

/// Properties of a layer that decide which kernel an engine uses.
struct EngineLayer {
  int64_t groups = 0;      ///< 0: a matrix product
  bool depthwise = false;  ///< groups = input channels = output channels, and more than one

  /// `group_channels` is the number of input channels of a group.
  static EngineLayer convolution(int64_t groups, int64_t group_channels, int64_t outputs) {
    return {groups, groups > 1 && group_channels == 1 && outputs == groups};
  }
};

/// Scales and bias of one output channel of a layer.
struct LayerScales {
  float x = 1.0F, w = 1.0F, y = 1.0F;
  float bias = 0.0F;  ///< real bias of PyTorch's engines, which add it unquantized
  EngineLayer layer = {};
};

/// Factor from an exact sum of code products to steps of the result.
HS_HOST_DEVICE inline float float_product_factor(float x_scale, float w_scale, float y_scale) {
  return x_scale * w_scale / y_scale;
}
/// Factor from a sum over `count` codes to steps of their average.
HS_HOST_DEVICE inline float float_pool_factor(float x_scale, float y_scale, float count) {
  return x_scale / (y_scale * count);
}

/// Layer of FBGEMM.
inline FloatScale fbgemm_layer(const LayerScales& s) {
  const float scale = s.x * s.w;
  return {.bias = s.bias / scale, .factor = scale / s.y};
}

/// Convolution of oneDNN. PyTorch passes the reciprocal of the input's scale, and oneDNN takes the reciprocal of that.
inline FloatScale onednn_layer(const LayerScales& s) {
  const float x = 1.0F / (1.0F / s.x);
  if (s.layer.depthwise) return {x, s.w, s.bias, 1.0F / s.y, true};
  return {x * s.w, 1.0F, s.bias, 1.0F / s.y, true};
}

/// The x86 engine uses oneDNN for convolutions with at most this many groups. It uses FBGEMM for all other layers.
inline constexpr int64_t kMostOneDnnGroups = 100;

/// Layer of a form that keeps scales.
inline FloatScale float_layer(Requantization form, const LayerScales& s) {
  if (form == Requantization::float32) return {.factor = float_product_factor(s.x, s.w, s.y)};
  const bool onednn = form == Requantization::x86 && s.layer.groups >= 1 && s.layer.groups <= kMostOneDnnGroups;
  return onednn ? onednn_layer(s) : fbgemm_layer(s);
}

// Operators without weights. All of PyTorch's engines compute them in the same way.

/// Product of two quantized values. onnxruntime adds the zero point before rounding.
inline FloatScale float_product(Requantization form, float a, float b, float y) {
  if (form == Requantization::float32) return {.factor = float_product_factor(a, b, y), .zero_inside = true};
  return {.factor = a * b * (1.0F / y)};
}

/// Average pooling, from a sum over `count` codes.
inline FloatScale float_pool(Requantization form, float x, float y, float count) {
  if (form == Requantization::float32) return {.factor = float_pool_factor(x, y, count)};
  return {.factor = x / y / count};
}

inline FloatScale float_rescale(Requantization form, float x, float y) {
  if (form == Requantization::float32) return {.factor = x / y};
  return {.scale = x, .factor = 1.0F / y};
}

}  // namespace halfstep::arith

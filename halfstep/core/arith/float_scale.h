// Requantization in float32: onnxruntime's on processors with FMA, and that of PyTorch's engines for x86.
// docs/arithmetic.md, sections 4, 9 and 10. Every operation is one in float32, in this order.
#pragma once

#include <cmath>
#include <cstdint>

#include "halfstep/core/arith/requantization.h"
#include "halfstep/core/base/host_device.h"

namespace halfstep::arith {

/// Beyond any code and zero point: steps saturate there, so that a zero point can be added to them in int32.
inline constexpr float kMostSteps = 0x1p30F;

/// The nearest whole number, half to even.
HS_HOST_DEVICE inline int32_t whole_steps(float steps) {
  const float saturated = steps > kMostSteps ? kMostSteps : steps < -kMostSteps ? -kMostSteps : steps;
  return static_cast<int32_t>(std::nearbyint(saturated));
}

/// From an exact sum to a code. What a form leaves out is 1, or 0 in the bias: neither changes a number.
struct FloatScale {
  float scale = 1.0F, channel_scale = 1.0F, bias = 0.0F, factor = 1.0F;
  bool zero_inside = false;  ///< the zero point is added before rounding

  HS_HOST_DEVICE float steps(int64_t acc) const {
    return (static_cast<float>(acc) * scale * channel_scale + bias) * factor;
  }
  /// The code before the clamp.
  HS_HOST_DEVICE int32_t code(int64_t acc, int32_t zero_point) const {
    if (zero_inside) return whole_steps(steps(acc) + static_cast<float>(zero_point));
    return whole_steps(steps(acc)) + zero_point;
  }
  /// What multiplies a sum.
  HS_HOST_DEVICE float product() const { return scale * channel_scale * factor; }
  /// Whether every number is finite, and what multiplies positive.
  HS_HOST_DEVICE bool is_legal() const {
    return std::isfinite(product()) && product() > 0.0F && std::isfinite(scale) && std::isfinite(channel_scale) &&
           std::isfinite(factor) && std::isfinite(bias);
  }
};

/// A sum of two values of codes as onnxruntime has it, with everything that does not depend on the element worked out.
struct FloatSum {
  float a_ratio = 1.0F, b_ratio = 1.0F, offset = 0.0F;

  HS_HOST_DEVICE static FloatSum of(float a_scale, int32_t a_zero_point, float b_scale, int32_t b_zero_point,
                                    float y_scale, int32_t y_zero_point) {
    const float a_ratio = a_scale / y_scale, b_ratio = b_scale / y_scale;
    const float zero = std::fma(a_ratio, static_cast<float>(a_zero_point), b_ratio * static_cast<float>(b_zero_point));
    return {a_ratio, b_ratio, static_cast<float>(y_zero_point) - zero};
  }
  /// The code before rounding, zero point included.
  HS_HOST_DEVICE float steps(int32_t a, int32_t b) const {
    return std::fma(static_cast<float>(a), a_ratio, std::fma(static_cast<float>(b), b_ratio, offset));
  }
  /// The code before the clamp.
  HS_HOST_DEVICE int32_t code(int32_t a, int32_t b) const { return whole_steps(steps(a, b)); }
};

/// A sum of two values of codes as PyTorch has it: both made real, added, and quantized by the reciprocal.
struct EngineSum {
  float a_scale = 1.0F, a_offset = 0.0F, b_scale = 1.0F, b_offset = 0.0F, inverse = 1.0F;
  int32_t zero_point = 0;

  HS_HOST_DEVICE static EngineSum of(float a_scale, int32_t a_zero_point, float b_scale, int32_t b_zero_point,
                                     float y_scale, int32_t y_zero_point) {
    const float a_zero = a_scale * static_cast<float>(a_zero_point),
                b_zero = b_scale * static_cast<float>(b_zero_point);
    return {a_scale, -a_zero, b_scale, -b_zero, 1.0F / y_scale, y_zero_point};
  }
  /// The code before the clamp.
  HS_HOST_DEVICE int32_t code(int32_t a, int32_t b) const {
    const float sum =
        std::fma(static_cast<float>(a), a_scale, a_offset) + std::fma(static_cast<float>(b), b_scale, b_offset);
    return whole_steps(sum * inverse) + zero_point;
  }
};

/// What of a layer an engine chooses its kernel by.
struct EngineLayer {
  int64_t groups = 0;      ///< 0: a matrix product
  bool depthwise = false;  ///< as many groups as channels on either side, and more than one

  /// `group_channels` input channels of a group.
  static EngineLayer convolution(int64_t groups, int64_t group_channels, int64_t outputs) {
    return {groups, groups > 1 && group_channels == 1 && outputs == groups};
  }
};

/// One output channel of a layer.
struct LayerScales {
  float x = 1.0F, w = 1.0F, y = 1.0F;
  float bias = 0.0F;  ///< of engines, which add it as it is
  EngineLayer layer = {};
};

/// From an exact sum of products of codes to steps of the result.
HS_HOST_DEVICE inline float float_product_factor(float x_scale, float w_scale, float y_scale) {
  return x_scale * w_scale / y_scale;
}
/// From a sum over `count` codes to steps of their average.
HS_HOST_DEVICE inline float float_pool_factor(float x_scale, float y_scale, float count) {
  return x_scale / (y_scale * count);
}

/// The layers of FBGEMM.
inline FloatScale fbgemm_layer(const LayerScales& s) {
  const float scale = s.x * s.w;
  return {.bias = s.bias / scale, .factor = scale / s.y};
}

/// The convolutions of oneDNN, which is given the reciprocal of the input's scale and takes the reciprocal of that.
inline FloatScale onednn_layer(const LayerScales& s) {
  const float x = 1.0F / (1.0F / s.x);
  if (s.layer.depthwise) return {x, s.w, s.bias, 1.0F / s.y, true};
  return {x * s.w, 1.0F, s.bias, 1.0F / s.y, true};
}

/// The engine x86 has oneDNN's convolutions up to so many groups; all other layers are FBGEMM's.
inline constexpr int64_t kMostOneDnnGroups = 100;

/// The layer of a form that keeps scales.
inline FloatScale float_layer(Requantization form, const LayerScales& s) {
  if (form == Requantization::float32) return {.factor = float_product_factor(s.x, s.w, s.y)};
  const bool onednn = form == Requantization::x86 && s.layer.groups >= 1 && s.layer.groups <= kMostOneDnnGroups;
  return onednn ? onednn_layer(s) : fbgemm_layer(s);
}

// Operators without weights. PyTorch's are the same whatever the engine.

/// A product of two values of codes: that of onnxruntime has the zero point inside the rounding.
inline FloatScale float_product(Requantization form, float a, float b, float y) {
  if (form == Requantization::float32) return {.factor = float_product_factor(a, b, y), .zero_inside = true};
  return {.factor = a * b * (1.0F / y)};
}

/// An average, from a sum over `count` codes.
inline FloatScale float_pool(Requantization form, float x, float y, float count) {
  if (form == Requantization::float32) return {.factor = float_pool_factor(x, y, count)};
  return {.factor = x / y / count};
}

inline FloatScale float_rescale(Requantization form, float x, float y) {
  if (form == Requantization::float32) return {.factor = x / y};
  return {.scale = x, .factor = 1.0F / y};
}

}  // namespace halfstep::arith

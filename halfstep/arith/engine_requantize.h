// Requantization as PyTorch's engines for x86 do it: in float32, with biases that stay real numbers.
// docs/arithmetic.md, sections 4 and 10. Every operation is one in float32, in this order.
#pragma once

#include <cmath>
#include <cstdint>

#include "halfstep/arith/float_requantize.h"
#include "halfstep/arith/multiplier.h"
#include "halfstep/base/host_device.h"

namespace halfstep::arith {

/// From an exact sum to a code. What an engine leaves out is 1, or 0 in the bias: neither changes a number.
struct EngineStep {
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
  /// Whether every number is finite, and what multiplies positive.
  HS_HOST_DEVICE bool is_legal() const {
    const float product = scale * channel_scale * factor;
    return std::isfinite(product) && product > 0.0F && std::isfinite(scale) && std::isfinite(channel_scale) &&
           std::isfinite(factor) && std::isfinite(bias);
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

/// The layers of FBGEMM.
HS_HOST_DEVICE inline EngineStep fbgemm_step(float x_scale, float w_scale, float y_scale, float bias) {
  const float scale = x_scale * w_scale;
  return {1.0F, 1.0F, bias / scale, scale / y_scale, false};
}

/// The convolutions of oneDNN, which is given the reciprocal of the input's scale and takes the reciprocal of that.
HS_HOST_DEVICE inline EngineStep onednn_step(const EngineLayer& layer, float x_scale, float w_scale, float y_scale,
                                             float bias) {
  const float x = 1.0F / (1.0F / x_scale);
  if (layer.depthwise) return {x, w_scale, bias, 1.0F / y_scale, true};
  return {x * w_scale, 1.0F, bias, 1.0F / y_scale, true};
}

/// The engine x86 has oneDNN's convolutions up to so many groups; all other layers are FBGEMM's.
inline constexpr int64_t kMostOneDnnGroups = 100;
HS_HOST_DEVICE inline EngineStep x86_step(const EngineLayer& layer, float x_scale, float w_scale, float y_scale,
                                          float bias) {
  const bool onednn = layer.groups >= 1 && layer.groups <= kMostOneDnnGroups;
  return onednn ? onednn_step(layer, x_scale, w_scale, y_scale, bias) : fbgemm_step(x_scale, w_scale, y_scale, bias);
}

/// A layer's step by the engine that the form names.
HS_HOST_DEVICE inline EngineStep engine_layer_step(Requantization form, const EngineLayer& layer, float x_scale,
                                                   float w_scale, float y_scale, float bias) {
  return form == Requantization::x86 ? x86_step(layer, x_scale, w_scale, y_scale, bias)
                                     : fbgemm_step(x_scale, w_scale, y_scale, bias);
}

// Operators without weights are PyTorch's own, whatever the engine.

HS_HOST_DEVICE inline EngineStep engine_product_step(float a_scale, float b_scale, float y_scale) {
  return {1.0F, 1.0F, 0.0F, a_scale * b_scale * (1.0F / y_scale), false};
}
/// The step of an average, from a sum over `count` codes.
HS_HOST_DEVICE inline EngineStep engine_pool_step(float x_scale, float y_scale, float count) {
  return {1.0F, 1.0F, 0.0F, x_scale / y_scale / count, false};
}
HS_HOST_DEVICE inline EngineStep engine_rescale_step(float x_scale, float y_scale) {
  return {x_scale, 1.0F, 0.0F, 1.0F / y_scale, false};
}
/// The highest code of relu6, before the clamp.
HS_HOST_DEVICE inline float engine_code_of_six(float scale, int32_t zero_point) {
  return std::nearbyint(6.0F * (1.0F / scale)) + static_cast<float>(zero_point);
}

/// A sum of two values of codes: both made real, added, and quantized by the reciprocal.
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

}  // namespace halfstep::arith

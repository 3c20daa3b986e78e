// ONNX's operators on codes for one element (docs/arithmetic.md, section 9). `Code` is the storage type: int8_t for i2,
// i4 and i8, uint8_t for u2, u4, u8 and the small floats.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "halfstep/core/arith/float_scale.h"
#include "halfstep/core/base/host_device.h"

namespace halfstep::kernels::onnx {

HS_HOST_DEVICE inline uint32_t bits_of_float(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

HS_HOST_DEVICE inline float float_of_bits(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// The nearest bf16, half to even.
HS_HOST_DEVICE inline float round_to_bfloat16(float value) {
  const uint32_t bits = bits_of_float(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return value;
  return float_of_bits((bits + 0x7FFFU + (bits >> 16 & 1U)) & 0xFFFF0000U);
}

/// x / scale. With `in_bfloat16`, for a bf16 scale, the quotient is rounded again, to bf16.
HS_HOST_DEVICE inline float steps_of(float x, float scale, bool in_bfloat16) {
  return in_bfloat16 ? round_to_bfloat16(x / scale) : x / scale;
}

/// Lowest and highest code of an integer type.
struct CodeRange {
  int32_t low, high;
};

/// rint(steps) + zero_point, half to even, saturated to the range. NaN becomes the lowest code. The sum is exact
/// wherever it does not saturate, because |rint(steps)| < 2^24 there.
HS_HOST_DEVICE inline int32_t saturated_code(float steps, int32_t zero_point, CodeRange range) {
  const float code = std::nearbyint(steps) + static_cast<float>(zero_point);
  if (!(code >= static_cast<float>(range.low))) return range.low;
  return code > static_cast<float>(range.high) ? range.high : static_cast<int32_t>(code);
}

/// Like saturated_code, but in int32. NaN, infinities and values outside int32 become -2^31. The zero point is added
/// modulo 2^32.
HS_HOST_DEVICE inline int32_t wrapped_code(float steps, int32_t zero_point, CodeRange range) {
  const float whole = std::nearbyint(steps);
  const int32_t count = std::fabs(whole) < 0x1p31F ? static_cast<int32_t>(whole) : INT32_MIN;
  const auto code = static_cast<int32_t>(static_cast<uint32_t>(count) + static_cast<uint32_t>(zero_point));
  return code < range.low ? range.low : code > range.high ? range.high : code;
}

/// Layout of a float type of at most 8 bits, for encoding. Codes have no sign bit here.
struct SmallCodes {
  int32_t mantissa_bits, bias;
  uint32_t largest;   ///< the largest finite number
  uint32_t overflow;  ///< code of numbers above the largest one
  uint32_t nan;       ///< code of NaN, whose sign is dropped
  uint32_t sign;      ///< the sign bit
  bool minus_zero;    ///< whether 0 has a sign
};

/// Encodes value, half to even.
HS_HOST_DEVICE inline uint8_t small_code(float value, const SmallCodes& type) {
  const uint32_t bits = bits_of_float(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<uint8_t>(type.nan);
  const int32_t dropped = 23 - type.mantissa_bits;
  uint32_t code = 0;
  if (magnitude < static_cast<uint32_t>(128 - type.bias) << 23) {
    // Below the first normal number the code counts steps of the smallest number. The factor is a power of two.
    const float per_step = float_of_bits(static_cast<uint32_t>(126 + type.bias + type.mantissa_bits) << 23);
    code = static_cast<uint32_t>(std::nearbyint(float_of_bits(magnitude) * per_step));
  } else {
    const uint32_t rounded = magnitude + (1U << (dropped - 1)) - 1U + (magnitude >> dropped & 1U);
    code = (rounded >> dropped) - (static_cast<uint32_t>(127 - type.bias) << type.mantissa_bits);
    if (code > type.largest) code = type.overflow;
  }
  const bool keeps_sign = bits != magnitude && (code != 0 || type.minus_zero);
  return static_cast<uint8_t>(keeps_sign ? code | type.sign : code);
}

/// Decodes a code of a type that does not saturate.
HS_HOST_DEVICE inline float small_real(uint8_t code, const SmallCodes& type) {
  const bool is_negative = (code & type.sign) != 0;
  const uint32_t magnitude = code & (type.sign - 1U);
  const bool is_minus_nan = is_negative && magnitude == 0 && !type.minus_zero;
  uint32_t bits = 0;
  if (magnitude > type.largest || is_minus_nan) {
    bits = magnitude == type.overflow && type.overflow != type.nan ? 0x7F800000U : 0x7FC00000U;
  } else if (magnitude < 1U << type.mantissa_bits) {
    // Below the first normal number the code counts steps of the smallest number.
    const float step = float_of_bits(static_cast<uint32_t>(128 - type.bias - type.mantissa_bits) << 23);
    bits = bits_of_float(static_cast<float>(magnitude) * step);
  } else {
    bits = (magnitude << (23 - type.mantissa_bits)) + (static_cast<uint32_t>(127 - type.bias) << 23);
  }
  return float_of_bits(is_negative ? bits | 0x80000000U : bits);
}

HS_HOST_DEVICE inline float real_of(int32_t code, int32_t zero_point, float scale) {
  return (static_cast<float>(code) - static_cast<float>(zero_point)) * scale;
}

/// Scale and zero point that map [low, high] to the codes 0 to 255. Requires low <= 0 <= high.
struct DynamicParameters {
  float scale;
  int32_t zero_point;

  HS_HOST_DEVICE static DynamicParameters of(float low, float high) {
    const float scale = low == high ? 1.0F : (high - low) / 255.0F;
    const float zero = -low / scale;
    const float below = zero < 255.0F ? zero : 255.0F;  // NaN becomes 255
    return {scale, static_cast<int32_t>(std::nearbyint(below > 0.0F ? below : 0.0F))};
  }
};

HS_HOST_DEVICE inline int32_t requantized(int32_t sum, float multiplier, int32_t zero_point, CodeRange range) {
  return saturated_code(static_cast<float>(sum) * multiplier, zero_point, range);
}

HS_HOST_DEVICE inline float leaky_relu(float x, float alpha) { return x >= 0.0F ? x : x * alpha; }

HS_HOST_DEVICE inline float sigmoid(float x) {
  return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x))));
}

}  // namespace halfstep::kernels::onnx

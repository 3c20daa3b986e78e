// Floats of at most 16 bits: f16, bf16, and the 8-bit and 4-bit floats of ONNX.
#pragma once

#include <bit>
#include <cstdint>

#include "halfstep/core/base/dtype.h"
#include "halfstep/core/base/host_device.h"

namespace halfstep {

/// Semantics of the highest codes of a format.
enum class TopCodes {
  ieee,   ///< the highest exponent encodes infinities and NaN
  fn,     ///< all ones encodes NaN, there are no infinities
  fnuz,   ///< the code of -0 is the only NaN, there are no infinities
  finite  ///< no NaN, no infinities
};

/// A binary float of 1 + exponent_bits + mantissa_bits bits, with subnormals.
struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  TopCodes top;

  /// Returns the format of a float dtype of at most 16 bits.
  static SmallFloat of(DType dtype);
  double largest() const;      ///< the largest finite magnitude
  uint16_t quiet_nan() const;  ///< 0 for a format without NaN
};

/// Returns the exact value of a code.
double decode(uint16_t bits, const SmallFloat& format);

/// Returns the nearest code, half to even. A value that rounds above the largest finite magnitude becomes that
/// magnitude if `saturate` is true (infinities too). Otherwise it becomes infinity, or NaN in a format without
/// infinity, or the largest magnitude in a format without both. NaN loses its payload. In a format without NaN it
/// becomes the largest magnitude. A format without -0 encodes it as 0.
uint16_t encode(double value, const SmallFloat& format, bool saturate);

/// An f16 in memory. Conversions equal `encode` and `decode`.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  HS_HOST_DEVICE explicit Half(float value) {
    const auto whole = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = whole & 0x7FFFFFFFU;
    uint32_t code = 0x7E00U;  // NaN
    if (magnitude < 0x38800000U) {
      // Below 2^-14: after adding 0.5, the last bit of the float is one step of the subnormal numbers, so the sum
      // rounds to it.
      code = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
    } else if (magnitude <= 0x7F800000U) {
      const uint32_t rounded = magnitude - 0x38000000U + 0xFFFU + (magnitude >> 13 & 1U);
      code = rounded >> 13 < 0x7C00U ? rounded >> 13 : 0x7C00U;
    }
    bits = static_cast<uint16_t>((whole >> 16 & 0x8000U) | code);
  }
  HS_HOST_DEVICE explicit operator float() const {
    const uint32_t code = bits & 0x7FFFU;
    uint32_t magnitude = (code << 13) + 0x38000000U;
    if (code >= 0x7C00U) {
      magnitude = (code << 13) | 0x7F800000U;
    } else if (code < 0x400U) {
      magnitude = std::bit_cast<uint32_t>(static_cast<float>(code) * 0x1p-24F);
    }
    return std::bit_cast<float>((static_cast<uint32_t>(bits & 0x8000U) << 16) | magnitude);
  }
};

/// A bf16 in memory: the upper half of a float32.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  /// Rounds half to even.
  HS_HOST_DEVICE explicit BFloat16(float value) {
    const auto whole = std::bit_cast<uint32_t>(value);
    const bool is_nan = (whole & 0x7FFFFFFFU) > 0x7F800000U;
    bits = static_cast<uint16_t>(is_nan ? (whole >> 16) | 0x40U : (whole + 0x7FFFU + (whole >> 16 & 1U)) >> 16);
  }
  HS_HOST_DEVICE explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

}  // namespace halfstep

// Floats of at most 16 bits: f16, bf16, and the 8-bit and 4-bit floats of ONNX.
#pragma once

#include <bit>
#include <cstdint>

#include "halfstep/core/base/dtype.h"
#include "halfstep/core/base/host_device.h"

namespace halfstep {

/// What the highest codes of a format stand for.
enum class TopCodes {
  ieee,   ///< the highest exponent: infinities and NaN
  fn,     ///< all ones is NaN; no infinities
  fnuz,   ///< the code of -0 is the only NaN; no infinities
  finite  ///< neither
};

/// A binary float of 1 + exponent_bits + mantissa_bits bits with subnormals.
struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  TopCodes top;

  /// The format of a dtype of at most 16 bits that is a float.
  static SmallFloat of(DType dtype);
  double largest() const;      ///< the largest finite magnitude
  uint16_t quiet_nan() const;  ///< 0 for a format without NaN
};

/// What a code stands for, exactly.
double decode(uint16_t bits, const SmallFloat& format);

/// The nearest code, half to even. What rounds beyond the largest finite magnitude becomes: saturating, that magnitude
/// (infinities too); else infinity where the format has it, else NaN where it has that. NaN keeps no payload; in a
/// format without NaN it becomes the largest magnitude. A format without -0 gives 0.
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
      // Below 2^-14: beside 0.5 the last bit of a float is one step of the subnormal numbers, and the sum rounds to it.
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
  /// Half to even.
  HS_HOST_DEVICE explicit BFloat16(float value) {
    const auto whole = std::bit_cast<uint32_t>(value);
    const bool is_nan = (whole & 0x7FFFFFFFU) > 0x7F800000U;
    bits = static_cast<uint16_t>(is_nan ? (whole >> 16) | 0x40U : (whole + 0x7FFFU + (whole >> 16 & 1U)) >> 16);
  }
  HS_HOST_DEVICE explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

}  // namespace halfstep

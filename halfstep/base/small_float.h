// Floats of at most 16 bits: f16, bf16, and the 8-bit and 4-bit floats of ONNX.
#pragma once

#include <bit>
#include <cstdint>

#include "halfstep/base/dtype.h"

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

  /// Of a dtype of at most 16 bits that is a float.
  static SmallFloat of(DType dtype);
  double largest() const;      ///< the largest finite magnitude
  uint16_t quiet_nan() const;  ///< 0 for a format without NaN
};

/// Exact.
double decode(uint16_t bits, const SmallFloat& format);

/// Half to even. What rounds beyond the largest finite magnitude becomes: saturating, that magnitude (infinities too);
/// else infinity where the format has it, else NaN where it has that. NaN keeps no payload; in a format without NaN it
/// becomes the largest magnitude. A format without -0 gives 0.
uint16_t encode(double value, const SmallFloat& format, bool saturate);

/// An f16 in memory.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
};

/// A bf16 in memory: the upper half of a float32.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  /// Half to even.
  explicit BFloat16(float value) {
    const auto whole = std::bit_cast<uint32_t>(value);
    const bool is_nan = (whole & 0x7FFFFFFFU) > 0x7F800000U;
    bits = static_cast<uint16_t>(is_nan ? whole >> 16 | 0x40U : (whole + 0x7FFFU + (whole >> 16 & 1U)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

}  // namespace halfstep

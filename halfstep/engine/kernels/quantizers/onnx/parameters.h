// Maps elements to their scale and zero point, and describes types of codes.
#pragma once

#include "halfstep/core/base/small_float.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/quantizers/onnx/rule.h"

namespace halfstep::kernels::onnx {

/// Views x as outer * extent * run elements. Parameters of element (o, a, r) have the index o * outer_step + a / block
/// * block_step + r * run_step.
struct Spread {
  int64_t outer = 1, extent = 1, run = 1;
  int64_t block = 1;
  int64_t outer_step = 0, block_step = 0, run_step = 0;

  /// A scale of one element covers all of x. A one-dimensional scale without blocks has one element for each position
  /// on `axis`.
  static Spread of(const Dims& x, const Dims& scale, int64_t axis, int64_t block_size) {
    Spread spread;
    if (scale.size() <= 1 && count_elements(scale) == 1) {
      spread.run = count_elements(x);
      return spread;
    }
    if (axis < 0) axis += static_cast<int64_t>(x.size());
    for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i)
      (i < axis ? spread.outer : i == axis ? spread.extent : spread.run) *= x[i];
    spread.block_step = 1;
    if (block_size <= 0) return spread;
    spread.block = block_size;
    spread.block_step = spread.run;
    spread.outer_step = scale[axis] * spread.run;
    spread.run_step = 1;
    return spread;
  }

  int64_t size() const { return outer * extent * run; }
  /// Index of the parameter for the first element of run `index`, counted through x.
  int64_t at_run(int64_t index) const { return index / extent * outer_step + index % extent / block * block_step; }
  int64_t at(int64_t element) const { return at_run(element / run) + element % run * run_step; }
};

/// Lowest and highest code of an integer type of at most 16 bits.
inline CodeRange range_of(DType dtype) {
  const int32_t codes = 1 << bits_of(dtype);
  const bool is_signed = stored_as<int8_t>(dtype) || dtype == DType::i16;
  return is_signed ? CodeRange{-codes / 2, codes / 2 - 1} : CodeRange{0, codes - 1};
}

SmallCodes small_codes(DType dtype, bool saturate);

/// Rules by which onnx_quantize_linear turns the quotient into a code.
struct QuantizeRule {
  bool small = false;        ///< the result is a small float
  bool in_bfloat16 = false;  ///< the scale is bf16
  bool wraps = false;        ///< codes have 2 bits, or the scale has 16
  CodeRange range = {};
  SmallCodes codes = {};

  static QuantizeRule of(DType scale, DType result, bool saturate);
};

/// Calls body.template operator()<Code>() with the storage type of `dtype`. Small floats are stored as u8.
template <class Body>
decltype(auto) with_code(DType dtype, Body&& body) {
  if (stored_as<int8_t>(dtype)) return body.template operator()<int8_t>();
  if (dtype == DType::i16) return body.template operator()<int16_t>();
  if (dtype == DType::u16) return body.template operator()<uint16_t>();
  if (dtype == DType::i32) return body.template operator()<int32_t>();
  HS_CHECK(stored_as<uint8_t>(dtype));
  return body.template operator()<uint8_t>();
}

/// Element `index` of codes of any integer type, or 0 if the operand is absent.
inline int32_t code_at(const ConstView& codes, int64_t index = 0) {
  if (!codes.present()) return 0;
  return with_code(codes.dtype, [&]<class Code>() -> int32_t { return codes.as<const Code>()[index]; });
}

inline float scale_at(const ConstView& scale, int64_t index = 0) {
  switch (scale.dtype) {
    case DType::f16: return static_cast<float>(scale.as<const Half>()[index]);
    case DType::bf16: return static_cast<float>(scale.as<const BFloat16>()[index]);
    default: return scale.as<const float>()[index];
  }
}

}  // namespace halfstep::kernels::onnx

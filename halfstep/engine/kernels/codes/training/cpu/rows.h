// Rows of accumulators, codes and gradients on vectors.
#pragma once

#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/base/dtype.h"
#include "halfstep/core/machine/cpu.h"
#include "halfstep/engine/kernels/codes/training/cpu/product.h"

namespace halfstep::kernels::training {

/// Results of 32-bit numbers from this many bytes on bypass the caches. A training step reads them only after the
/// caches have evicted them, and a store that bypasses the caches need not read the line first.
inline constexpr int64_t kPastCaches = int64_t{4} << 20;
constexpr bool past_caches(int64_t elements) { return elements * 4 >= kPastCaches; }

/// Requantization of the sums of one output channel.
struct Step {
  arith::Requantizer requantizer;
  int32_t bias = 0;        ///< bias, plus corrections that the sum needs
  int32_t shown_bias = 0;  ///< engines: part of the accumulator that the sum for the code does not have
};

struct RequantizeRow {
  const int32_t* sums = nullptr;
  int64_t size = 0;
  Step step;
  int32_t zero_point = 0;
  arith::Clamp clamp;
  int32_t* acc = nullptr;    ///< sums with the bias, or null. May equal `sums`
  bool past_caches = false;  ///< acc bypasses the caches
  void* codes = nullptr;
};

/// Rows of sums. Each row has one sum of every channel.
struct MatrixTile {
  const int32_t* sums = nullptr;
  int64_t rows = 0, channels = 0;
  const Step* steps = nullptr;
  int32_t zero_point = 0;
  arith::Clamp clamp;
  int32_t* acc = nullptr;  ///< sums with the bias, or null, as in RequantizeRow
  void* codes = nullptr;
  int64_t stride = 0;  ///< elements from row to row of acc and codes
};

/// Elements of one channel, or of a tensor without channels, with the parameters of their gradients.
struct GradientRow {
  int64_t size = 0;
  const float* out_grad = nullptr;  ///< may equal `grad`
  const int32_t* codes = nullptr;   ///< accumulators, or codes before the clamp
  const float* real = nullptr;      ///< present only if `codes` are codes
  float* grad = nullptr;
  bool past_caches = false;                         ///< grad bypasses the caches
  arith::Clamp inside;                              ///< values of `codes` that are not clamped
  const arith::Requantizer* requantizer = nullptr;  ///< requantizer of the accumulators
  double factor = 1.0;                              ///< from accumulators, or from `real`, to steps of the scale
  double alpha = 1.0;                               ///< slope for negative accumulators

  /// Whether `grad` already has the gradients of elements that are not clamped.
  bool in_place() const { return grad == out_grad && alpha == 1.0; }
};

/// Accumulators of one channel, or of one channel for each element, for conversion to float.
struct AccumulatorRow {
  int64_t size = 0;
  const int32_t* acc = nullptr;
  float x_scale = 1.0F;
  const float* w_scale = nullptr;
  bool by_element = false;  ///< each element has its own scale
  arith::Activation activation = arith::Activation::none;
  float alpha = 0.0F;
  float* dst = nullptr;
  bool past_caches = false;
};

/// Operands and results of a sum of two values of codes.
struct SumRow {
  int64_t size = 0;
  DType a_type = DType::u8, b_type = DType::u8, out_type = DType::u8;
  const void* a = nullptr;
  const void* b = nullptr;
  arith::SumScales scales;
  arith::SumRequantizer sum;
  arith::Clamp clamp;
  void* out = nullptr;
  int32_t* unclamped = nullptr;  ///< present together with `real`, or absent
  float* real = nullptr;
  bool past_caches = false;  ///< unclamped and real bypass the caches
};

/// Sums of products of two values of codes.
struct ProductRow : ProductResult {
  int64_t size = 0;
  const int32_t* sums = nullptr;
  float a_scale = 1.0F, b_scale = 1.0F;
};

/// Planes of codes, for conversion to channels-last pixels.
struct PlanesRow {
  const uint8_t* src = nullptr;
  int64_t channels = 16;  ///< a multiple of 16
  int64_t height = 1, width = 1;
  uint8_t* dst = nullptr;  ///< first pixel
  int64_t line = 1;        ///< pixels from line to line of dst
};

/// The functions of rows.cpp for a level.
struct RowFunctions {
  void (*requantize)(DType codes, const RequantizeRow& row);
  /// Returns false without any work if a channel's requantizer is not a single multiplier that rounds half up.
  bool (*requantize_matrix)(DType codes, const MatrixTile& tile);
  void (*requantize_products)(const ProductRow& row);
  /// For one-byte codes: dst[i] = float(src[i] - zero_point).
  void (*subtract)(DType codes, const void* src, int64_t size, int32_t zero_point, float* dst);
  /// For two-byte codes: low[i] + 256 * high[i] = src[i] - zero_point, low in 0..255.
  void (*split)(DType codes, const void* src, int64_t size, int32_t zero_point, float* low, float* high);
  /// dst[i] += integer(src[i]) << shift, or dst[i] = integer(src[i]) << shift if `first`.
  void (*add_whole)(const float* src, int64_t size, int shift, bool first, int32_t* dst);
  /// dst[columns][rows] = src[rows][columns]. Elements have 4 bytes.
  void (*transpose)(const void* src, int64_t rows, int64_t columns, void* dst);
  void (*transpose_bytes)(const uint8_t* src, int64_t rows, int64_t columns, uint8_t* dst);
  void (*to_channels_last)(const PlanesRow& row);
  /// Extends the extremes of a channel by `size` numbers. `bias` is added to each, modulo 2^32.
  void (*widen)(const int32_t* numbers, int64_t size, int32_t bias, int32_t& low, int32_t& high);
  /// Extends the extremes of each of `count` channels by one number.
  void (*widen_each)(const int32_t* numbers, int64_t count, int32_t* low, int32_t* high);
};

const RowFunctions& row_functions(CpuLevel level);

}  // namespace halfstep::kernels::training

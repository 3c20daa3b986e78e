// Rows of accumulators, codes and gradients on vectors.
#pragma once

#include <variant>

#include "halfstep/arith/requantize.h"
#include "halfstep/base/cpu.h"

namespace halfstep::kernels::quantized {

/// From a sum to a code, for one output channel: by scale_float where there is a factor, by an engine where there is
/// one, else by scale_half_up.
struct Step {
  int32_t bias = 0;
  arith::Multiplier positive, negative;
  float factor = 0.0F;
  bool by_engine = false;
  arith::EngineStep engine;
  int32_t shown_bias = 0;  ///< of engines: what the accumulator has and the sum that makes the code has not
};

/// The Step of a Scaling. `correction` is what a sum needs beside the bias.
Step step_of(const arith::Scaling& scaling, int32_t correction, int32_t bias);

struct RequantizeRow {
  const int32_t* sums = nullptr;
  int64_t size = 0;
  Step step;
  int32_t zero_point = 0;
  arith::Clamp clamp;
  int32_t* acc = nullptr;  ///< sums with the bias, where they are asked for; may be `sums`
  void* codes = nullptr;
};

/// Elements of one channel, or of a tensor without channels, and what their gradients need.
struct GradientRow {
  int64_t size = 0;
  const float* out_grad = nullptr;
  const int32_t* codes = nullptr;  ///< accumulators, or codes before the clamp
  const float* real = nullptr;     ///< only where `codes` are codes
  float* grad = nullptr;
  Step step;            ///< of accumulators
  double factor = 1.0;  ///< from accumulators, or from `real`, to steps of the scale
  double alpha = 1.0;   ///< slope for negative accumulators
};

/// Accumulators of one channel, to be made real.
struct AccumulatorRow {
  int64_t size = 0;
  const int32_t* acc = nullptr;
  float x_scale = 1.0F, w_scale = 1.0F;
  arith::Activation activation = arith::Activation::none;
  float alpha = 0.0F;
  float* dst = nullptr;
};

/// A sum of two values of codes; every pointer to codes of the types that the function is for.
struct SumRow {
  int64_t size = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  float a_scale = 1.0F, b_scale = 1.0F;
  int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
  std::variant<arith::MultiplierPair, arith::FloatSum, arith::EngineSum> sum;
  arith::Clamp clamp;
  void* out = nullptr;
  int32_t* unclamped = nullptr;  ///< with `real`, or neither
  float* real = nullptr;
};

/// The functions of rows.cpp for a level.
struct RowFunctions {
  void (*requantize_u8)(const RequantizeRow& row);
  void (*requantize_u16)(const RequantizeRow& row);
  /// dst[i] = float(src[i] - zero_point)
  void (*subtract_u8)(const uint8_t* src, int64_t size, int32_t zero_point, float* dst);
  /// low[i] + 256 * high[i] = src[i] - zero_point, low in 0..255.
  void (*split_u16)(const uint16_t* src, int64_t size, int32_t zero_point, float* low, float* high);
  /// dst[i] += whole(src[i]) << shift, or = where first.
  void (*add_whole)(const float* src, int64_t size, int shift, bool first, int32_t* dst);
};

const RowFunctions& row_functions(CpuLevel level);

}  // namespace halfstep::kernels::quantized

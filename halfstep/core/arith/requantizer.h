// Requantization from an accumulator to codes, for all forms. docs/arithmetic.md, sections 4 and 5.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "halfstep/core/arith/float_scale.h"
#include "halfstep/core/arith/multiplier.h"
#include "halfstep/core/base/status.h"

namespace halfstep::arith {

/// Activation functions that a requantization can include.
enum class Activation { none, relu, relu6, leaky_relu };

constexpr std::optional<Activation> parse_activation(std::string_view text) {
  if (text == "none") return Activation::none;
  if (text == "relu") return Activation::relu;
  if (text == "relu6") return Activation::relu6;
  if (text == "leaky_relu") return Activation::leaky_relu;
  return std::nullopt;
}

/// Range of codes, both ends included.
struct Clamp {
  int32_t low = 0;
  int32_t high = 255;
  int32_t apply(int64_t code) const { return static_cast<int32_t>(std::clamp<int64_t>(code, low, high)); }
  bool holds(int64_t code) const { return code >= low && code <= high; }
};

/// Requantization by multipliers and shifts.
struct FixedScale {
  Multiplier positive;
  Multiplier negative;  ///< for negative accumulators; equals positive except for leaky_relu
  ShiftRounding rounding = ShiftRounding::half_up;

  int64_t code(int64_t acc, int32_t zero_point) const {
    return scale(acc, acc < 0 ? negative : positive, rounding) + zero_point;
  }
};

/// Requantization of the accumulators of a channel or a tensor.
using Requantizer = std::variant<FixedScale, FloatScale>;

/// Returns the code before the clamp. `acc` must be within the bounds of the form (accumulator.h).
inline int64_t requantize(const Requantizer& requantizer, int64_t acc, int32_t zero_point) {
  return std::visit([&](const auto& scale) -> int64_t { return scale.code(acc, zero_point); }, requantizer);
}

/// Addition of two quantized values with two multipliers and one shift, so that it rounds once.
struct FixedSum {
  MultiplierPair factors;
  int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
  ShiftRounding rounding = ShiftRounding::half_up;

  int64_t code(int64_t a, int64_t b) const {
    const int64_t sum = (a - a_zero_point) * factors.a + (b - b_zero_point) * factors.b;
    return shift_right(sum, factors.shift, rounding) + y_zero_point;
  }
};

/// Addition of two quantized values: .code(a, b) is the code before the clamp.
using SumRequantizer = std::variant<FixedSum, FloatSum, EngineSum>;

/// Scales of both operands of a sum and of its result.
struct SumScales {
  float a = 1.0F, b = 1.0F, y = 1.0F;  ///< a negative b means a subtraction
  int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
};

/// Sum of a form that keeps scales.
SumRequantizer float_sum(Requantization form, const SumScales& scales);

/// Requantization of an operator: the form, and the parameters from its attributes.
struct RequantizeRule {
  Requantization form = Requantization::fixed_point;
  Activation activation = Activation::none;
  int multiplier_bits = 31;
  int average_bits = 0;  ///< power_of_two: bits of the factor of an average, 0 if only shifts average
  double alpha = 0.01;   ///< slope of leaky_relu
  Clamp codes = {};
  ShiftRounding rounding = ShiftRounding::half_up;  ///< for forms with multipliers or shifts

  /// Returns the code range that includes the activation. relu raises the low end to the zero point. relu6 also lowers
  /// the high end to the code of 6.
  Clamp clamp(float y_scale, int32_t y_zero_point) const;
  /// Returns the rule for the backward pass. PyTorch's engines use the rule of float32.
  RequantizeRule backward() const;

  // Each function derives the requantization of an operator with the given scales, or returns the problem with them.

  Status for_layer(const LayerScales& scales, Requantizer& result) const;
  Status for_product(float a_scale, float b_scale, float y_scale, Requantizer& result) const;
  /// Average over a window, divided by `count`.
  Status for_pool(float x_scale, float y_scale, int64_t count, Requantizer& result) const;
  Status for_rescale(float x_scale, float y_scale, Requantizer& result) const;
  /// Requantizes an integer quotient to steps of `y_scale`. Forms that keep scales do not support it.
  Status for_quotient(float y_scale, Requantizer& result) const;
  Status for_sum(const SumScales& scales, SumRequantizer& result) const;

 private:
  Status fixed(double factor, Requantizer& result) const;
  Status averaging(double factor, int64_t count, Requantizer& result) const;
  Status floating(const FloatScale& scale, Requantizer& result) const;
};

/// Returns the factor from an accumulator of a layer to steps of its result. Evaluated from the left, in float32 for
/// forms that keep scales, else in double.
double product_factor(Requantization form, float x_scale, float w_scale, float y_scale);

}  // namespace halfstep::arith

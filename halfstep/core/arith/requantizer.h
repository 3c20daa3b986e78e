// From an accumulator to codes, in any form. docs/arithmetic.md, sections 4 and 5.
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

/// Activations that a requantization takes in.
enum class Activation { none, relu, relu6, leaky_relu };

constexpr std::optional<Activation> parse_activation(std::string_view text) {
  if (text == "none") return Activation::none;
  if (text == "relu") return Activation::relu;
  if (text == "relu6") return Activation::relu6;
  if (text == "leaky_relu") return Activation::leaky_relu;
  return std::nullopt;
}

/// Range of codes, edges included.
struct Clamp {
  int32_t low = 0;
  int32_t high = 255;
  int32_t apply(int64_t code) const { return static_cast<int32_t>(std::clamp<int64_t>(code, low, high)); }
  bool holds(int64_t code) const { return code >= low && code <= high; }
};

/// By multipliers and shifts.
struct FixedScale {
  Multiplier positive;
  Multiplier negative;  ///< for accumulators below zero; the same as positive but for leaky_relu
  ShiftRounding rounding = ShiftRounding::half_up;

  int64_t code(int64_t acc, int32_t zero_point) const {
    return scale(acc, acc < 0 ? negative : positive, rounding) + zero_point;
  }
};

/// What makes codes of accumulators: of a channel, or of a tensor.
using Requantizer = std::variant<FixedScale, FloatScale>;

/// The code before the clamp, of an accumulator that the form takes (accumulator.h).
inline int64_t requantize(const Requantizer& requantizer, int64_t acc, int32_t zero_point) {
  return std::visit([&](const auto& scale) -> int64_t { return scale.code(acc, zero_point); }, requantizer);
}

/// A sum of two values of codes by two multipliers over one shift: one rounding.
struct FixedSum {
  MultiplierPair factors;
  int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
  ShiftRounding rounding = ShiftRounding::half_up;

  int64_t code(int64_t a, int64_t b) const {
    const int64_t sum = (a - a_zero_point) * factors.a + (b - b_zero_point) * factors.b;
    return shift_right(sum, factors.shift, rounding) + y_zero_point;
  }
};

/// What makes codes of the codes of two values to be added: .code(a, b) before the clamp.
using SumRequantizer = std::variant<FixedSum, FloatSum, EngineSum>;

/// Both operands of a sum, and its result.
struct SumScales {
  float a = 1.0F, b = 1.0F, y = 1.0F;  ///< that of b below zero: a difference
  int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
};

/// The sum of a form that keeps scales.
SumRequantizer float_sum(Requantization form, const SumScales& scales);

/// How an operator requantizes: the form and what its attributes say.
struct RequantizeRule {
  Requantization form = Requantization::fixed_point;
  Activation activation = Activation::none;
  int multiplier_bits = 31;
  double alpha = 0.01;  ///< of leaky_relu
  Clamp codes = {};
  ShiftRounding rounding = ShiftRounding::half_up;  ///< of forms with multipliers or shifts

  /// The codes with the activation in them: relu raises the low edge to the zero point, relu6 also lowers the high edge
  /// to the code of 6.
  Clamp clamp(float y_scale, int32_t y_zero_point) const;
  /// The rule that the backward pass sees: that of an engine is float32's.
  RequantizeRule backward() const;

  // What an operator with those scales requantizes by, or what is wrong with them.

  Status for_layer(const LayerScales& scales, Requantizer& result) const;
  Status for_product(float a_scale, float b_scale, float y_scale, Requantizer& result) const;
  /// The average of a window that divides by `count`.
  Status for_pool(float x_scale, float y_scale, int64_t count, Requantizer& result) const;
  Status for_rescale(float x_scale, float y_scale, Requantizer& result) const;
  /// A quotient of whole numbers, to be brought to steps of `y_scale`; forms that keep scales have no such rule.
  Status for_quotient(float y_scale, Requantizer& result) const;
  Status for_sum(const SumScales& scales, SumRequantizer& result) const;

 private:
  Status fixed(double factor, Requantizer& result) const;
  Status floating(const FloatScale& scale, Requantizer& result) const;
};

/// From an accumulator of a layer to steps of its result: in float32 for forms that keep scales, else in double; from
/// the left.
double product_factor(Requantization form, float x_scale, float w_scale, float y_scale);

}  // namespace halfstep::arith

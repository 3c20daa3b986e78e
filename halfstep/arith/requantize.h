// From an accumulator to codes. docs/arithmetic.md, sections 4 and 5.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "halfstep/arith/multiplier.h"

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

/// The clamp with an activation in it: relu raises the low edge to the zero point, relu6 also lowers the high edge to
/// the code of 6.
inline Clamp fused_clamp(Activation activation, float scale, int32_t zero_point, int32_t code_min, int32_t code_max) {
  Clamp clamp{code_min, code_max};
  if (activation == Activation::relu || activation == Activation::relu6)
    clamp.low = std::clamp(zero_point, code_min, code_max);
  if (activation == Activation::relu6) {
    const double six = std::nearbyint(6.0 / static_cast<double>(scale)) + zero_point;
    if (six < clamp.high) clamp.high = static_cast<int32_t>(std::max<double>(clamp.low, six));
  }
  return clamp;
}

/// One channel's step from accumulator to code. power_of_two keeps k in `shift` and leaves m alone.
struct Scaling {
  Requantization form = Requantization::fixed_point;
  Multiplier positive;
  Multiplier negative;  ///< for acc < 0; the same as positive but for leaky_relu

  /// Before the zero point and the clamp.
  int64_t apply(int64_t acc) const {
    const Multiplier& factor = acc < 0 ? negative : positive;
    return form == Requantization::fixed_point ? scale_half_up(acc, factor) : shift_half_up(acc, factor.shift);
  }
};

/// The Scaling of `factor` (s_x * s_w / s_y); nothing where a shift would leave its range. alpha matters for leaky_relu
/// only, and must then be a power of two in the power_of_two form.
std::optional<Scaling> to_scaling(double factor, Requantization form, int bits, Activation activation, double alpha);

/// Products of float32 scales, in double, left to right.
inline double product_factor(float x_scale, float w_scale, float y_scale) {
  return static_cast<double>(x_scale) * static_cast<double>(w_scale) / static_cast<double>(y_scale);
}
/// Factor of a sum over a window of `count` elements.
inline double pool_factor(float x_scale, float y_scale, int64_t count) {
  return static_cast<double>(x_scale) / (static_cast<double>(y_scale) * static_cast<double>(count));
}
inline double ratio_factor(float x_scale, float y_scale) {
  return static_cast<double>(x_scale) / static_cast<double>(y_scale);
}

}  // namespace halfstep::arith

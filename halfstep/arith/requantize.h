// From an accumulator to codes. docs/arithmetic.md, sections 4 and 5.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "halfstep/arith/engine_requantize.h"
#include "halfstep/arith/float_requantize.h"
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
inline Clamp fused_clamp(Activation activation, float scale, int32_t zero_point, int32_t code_min, int32_t code_max,
                         Requantization form = Requantization::fixed_point) {
  Clamp clamp{code_min, code_max};
  if (activation == Activation::relu || activation == Activation::relu6)
    clamp.low = std::clamp(zero_point, code_min, code_max);
  if (activation == Activation::relu6) {
    const double six = is_engine(form) ? static_cast<double>(engine_code_of_six(scale, zero_point))
                                       : std::nearbyint(6.0 / static_cast<double>(scale)) + zero_point;
    if (six < clamp.high) clamp.high = static_cast<int32_t>(std::max<double>(clamp.low, six));
  }
  return clamp;
}

/// One channel's step from accumulator to code. power_of_two keeps k in `shift` and leaves m alone; float32 has the
/// factor alone, an engine its step.
struct Scaling {
  Requantization form = Requantization::fixed_point;
  Multiplier positive;
  Multiplier negative;  ///< for acc < 0; the same as positive but for leaky_relu
  float factor = 0.0F;  ///< float32 only
  EngineStep engine;    ///< of engines only

  static Scaling of(Requantization form, const EngineStep& step) { return {form, {}, {}, 0.0F, step}; }

  /// Before the zero point and the clamp; an engine has no such number. For accumulators that the form takes
  /// (accumulator.h).
  int64_t apply(int64_t acc) const {
    if (form == Requantization::float32) return scale_float(acc, factor);
    const Multiplier& step = acc < 0 ? negative : positive;
    return form == Requantization::fixed_point ? scale_half_up(acc, step) : shift_half_up(acc, step.shift);
  }
  /// The code before the clamp.
  int64_t code(int64_t acc, int32_t zero_point) const {
    if (is_engine(form)) return engine.code(acc, zero_point);
    return apply(acc) + zero_point;
  }
  /// The code of a product of two values of codes, before the clamp: float32 adds the zero point before it rounds.
  int64_t product_code(int64_t acc, int32_t zero_point) const {
    if (form == Requantization::float32) return float_product_code(acc, factor, zero_point);
    return code(acc, zero_point);
  }
};

/// The Scaling of `factor` (s_x * s_w / s_y); nothing where a shift would leave its range. alpha matters for leaky_relu
/// only, and must then be a power of two in the power_of_two form; float32 has no leaky_relu. The factor of an engine
/// makes a Scaling of float32, which is what its backward pass sees.
std::optional<Scaling> to_scaling(double factor, Requantization form, int bits, Activation activation, double alpha);

/// Factors from float32 scales, left to right: in float32 for forms that keep scales, else in double.
inline double product_factor(float x_scale, float w_scale, float y_scale,
                             Requantization form = Requantization::fixed_point) {
  if (keeps_scales(form)) return static_cast<double>(float_product_factor(x_scale, w_scale, y_scale));
  return static_cast<double>(x_scale) * static_cast<double>(w_scale) / static_cast<double>(y_scale);
}
/// Factor of a sum over a window of `count` elements.
inline double pool_factor(float x_scale, float y_scale, int64_t count,
                          Requantization form = Requantization::fixed_point) {
  if (keeps_scales(form)) return static_cast<double>(float_pool_factor(x_scale, y_scale, static_cast<float>(count)));
  return static_cast<double>(x_scale) / (static_cast<double>(y_scale) * static_cast<double>(count));
}
inline double ratio_factor(float x_scale, float y_scale, Requantization form = Requantization::fixed_point) {
  if (keeps_scales(form)) return static_cast<double>(x_scale / y_scale);
  return static_cast<double>(x_scale) / static_cast<double>(y_scale);
}

}  // namespace halfstep::arith

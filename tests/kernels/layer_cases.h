// Layers on codes, in the form of the prepared network and in the form of the integer program.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/arith/bias.h"
#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/engine/kernels/ops.h"
#include "tests/kernels/kernel_harness.h"

namespace halfstep::kernels {

/// Ways to fill operands.
enum class Fill {
  random,
  extreme,  ///< every code is the largest, every weight the largest with the sign of its output channel
  ties      ///< small weights with power-of-two scales: half steps everywhere
};

struct LayerShape {
  bool linear = false;
  int64_t n = 1, c = 1, h = 1, w = 1, o = 1;
  int64_t kh = 1, kw = 1, groups = 1;
  std::vector<int64_t> stride = {1, 1}, dilation = {1, 1}, pad = {0, 0, 0, 0};

  int64_t weights_of_output() const { return c / groups * kh * kw; }
  Dims x_dims() const { return linear ? Dims{n, c} : Dims{n, c, h, w}; }
  Dims w_dims() const { return linear ? Dims{o, c} : Dims{o, c / groups, kh, kw}; }
  Dims out_dims() const {
    if (linear) return {n, o};
    const int64_t oh = (h + pad[0] + pad[2] - dilation[0] * (kh - 1) - 1) / stride[0] + 1;
    const int64_t ow = (w + pad[1] + pad[3] - dilation[1] * (kw - 1) - 1) / stride[1] + 1;
    return {n, o, oh, ow};
  }
  std::string text() const {
    return (linear ? "linear " : "conv2d ") + to_string(x_dims()) + " " + to_string(w_dims()) + " stride " +
           to_string(stride) + " dilation " + to_string(dilation) + " pad " + to_string(pad);
  }
};

struct LayerRule {
  DType x_type = DType::u8;
  int32_t x_code_min = 0, x_code_max = 255;
  DType w_type = DType::i8;
  DType out_type = DType::u8;
  int32_t code_min = 0, code_max = 255;
  bool per_channel = true;
  std::string activation = "none";
  double alpha = 0.01;
  std::string requantize = "fixed_point";
  std::string shift_rounding = "half_up";
  int64_t bits = 31;
  bool bias = true;
  int32_t x_zero_point = 7;
  int32_t y_zero_point = 100;
  Fill fill = Fill::random;
  float finer = 1.0F;  ///< factor by which output steps are finer than those that spread codes over their range
};

/// Forms, activations, roundings, and codes of every type.
inline std::vector<LayerRule> layer_rules() {
  return {
      {},
      {.per_channel = false, .activation = "relu", .x_zero_point = 0, .y_zero_point = 0},
      {.activation = "leaky_relu", .bits = 15, .bias = false},
      {.w_type = DType::i4, .activation = "relu6", .fill = Fill::extreme},
      {.code_max = 15, .requantize = "power_of_two", .x_zero_point = 128, .y_zero_point = 8, .fill = Fill::ties},
      {.activation = "leaky_relu", .alpha = 0.125, .requantize = "power_of_two", .fill = Fill::ties},
      {.requantize = "float32"},
      {.activation = "relu6", .requantize = "float32", .x_zero_point = 128, .y_zero_point = 7, .fill = Fill::ties},
      {.w_type = DType::i4, .per_channel = false, .activation = "relu", .requantize = "float32", .fill = Fill::extreme},
      {.requantize = "fbgemm"},
      {.per_channel = false,
       .activation = "relu6",
       .requantize = "fbgemm",
       .x_zero_point = 128,
       .y_zero_point = 7,
       .fill = Fill::ties},
      {.requantize = "x86", .bias = false},
      {.activation = "relu6", .requantize = "x86", .x_zero_point = 128, .y_zero_point = 7, .fill = Fill::ties},
      {.w_type = DType::i4, .per_channel = false, .activation = "relu", .requantize = "x86", .fill = Fill::extreme},
      {.x_type = DType::u16, .x_code_max = 4095, .out_type = DType::u16, .code_max = 4095, .y_zero_point = 2000},
      {.x_type = DType::u16, .x_code_max = 65535, .w_type = DType::i4, .x_zero_point = 40000, .fill = Fill::extreme},
      {.out_type = DType::u16, .code_max = 1023, .x_zero_point = 255, .fill = Fill::extreme},
      {.x_type = DType::i8,
       .x_code_min = -128,
       .x_code_max = 127,
       .out_type = DType::i8,
       .code_min = -128,
       .code_max = 127,
       .activation = "relu",
       .x_zero_point = -5,
       .y_zero_point = -30},
      {.x_type = DType::i8,
       .x_code_min = -127,
       .x_code_max = 127,
       .out_type = DType::u8,
       .per_channel = false,
       .requantize = "power_of_two",
       .x_zero_point = 0,
       .fill = Fill::ties},
      {.x_type = DType::i16,
       .x_code_min = -2047,
       .x_code_max = 2047,
       .out_type = DType::i16,
       .code_min = -2047,
       .code_max = 2047,
       .shift_rounding = "half_even",
       .x_zero_point = 0,
       .y_zero_point = 0},
      {.x_type = DType::i16,
       .x_code_min = -32768,
       .x_code_max = 32767,
       .w_type = DType::i4,
       .out_type = DType::i8,
       .code_min = -128,
       .code_max = 127,
       .requantize = "x86",
       .x_zero_point = -300,
       .y_zero_point = 1},
      {.shift_rounding = "half_away", .fill = Fill::ties},
      {.shift_rounding = "truncate"},
      {.activation = "leaky_relu", .shift_rounding = "truncate", .bits = 15},
      {.code_max = 15,
       .requantize = "power_of_two",
       .shift_rounding = "half_even",
       .y_zero_point = 8,
       .fill = Fill::ties},
      {.activation = "leaky_relu", .alpha = 0.3, .shift_rounding = "doubled"},
      {.shift_rounding = "doubled", .finer = 0x1p7F},
      {.activation = "leaky_relu", .alpha = 0.3, .shift_rounding = "half_away", .finer = 0x1p24F},
      {.shift_rounding = "half_even", .finer = 0x1p24F},
      {.requantize = "float32", .x_zero_point = 255},
      {.x_type = DType::u16,
       .x_code_max = 65535,
       .out_type = DType::u16,
       .code_max = 65535,
       .requantize = "x86",
       .x_zero_point = 65535,
       .y_zero_point = 40000},
      {.out_type = DType::u16, .code_max = 65535, .requantize = "float32", .y_zero_point = 40000},
  };
}

/// A layer with its real-valued parameters.
struct LayerCase {
  LayerShape shape;
  LayerRule rule;
  Tensor x, w;
  float x_scale = 0.0625F, y_scale = 1.0F;
  std::vector<float> w_scale, b;

  LayerCase(const LayerShape& layer_shape, const LayerRule& layer_rule, uint64_t seed = 1)
      : shape(layer_shape), rule(layer_rule), x(rule.x_type, shape.x_dims()), w(rule.w_type, shape.w_dims()) {
    Random random(seed, 0);
    const int32_t w_max = rule.fill == Fill::ties ? 2 : rule.w_type == DType::i4 ? 7 : 127;
    fill_codes(random);
    const auto weights = w.data<int8_t>();
    for (size_t i = 0; i < weights.size(); ++i) {
      const auto drawn = static_cast<int32_t>(random.below(2 * w_max + 1)) - w_max;
      const bool even = static_cast<int64_t>(i) / shape.weights_of_output() % 2 == 0;
      weights[i] = static_cast<int8_t>(rule.fill == Fill::extreme ? (even ? w_max : -w_max) : drawn);
    }
    choose_scales(random, w_max);
  }

  std::vector<float> w_scales() const { return rule.per_channel ? w_scale : std::vector<float>{w_scale[0]}; }
  Type out_type() const { return {rule.out_type, shape.out_dims()}; }
  const arith::RequantizationTraits& form() const {
    return arith::traits(*arith::parse_requantization(rule.requantize));
  }
  arith::RequantizeRule requantize_rule() const {
    return {*arith::parse_requantization(rule.requantize),
            *arith::parse_activation(rule.activation),
            static_cast<int>(rule.bits),
            0,
            rule.alpha,
            {rule.code_min, rule.code_max},
            *arith::parse_shift_rounding(rule.shift_rounding)};
  }

  Attributes common_attributes() const {
    Attributes a = {{"code_min", int64_t{rule.code_min}},
                    {"code_max", int64_t{rule.code_max}},
                    {"code_type", std::string(name(rule.out_type))},
                    {"requantize", rule.requantize},
                    {"shift_rounding", rule.shift_rounding},
                    {"x_scale", 1.0},
                    {"y_scale", 1.0}};
    if (!shape.linear) {
      a["groups"] = shape.groups;
      a["stride"] = shape.stride;
      a["dilation"] = shape.dilation;
      a["pad"] = shape.pad;
    }
    return a;
  }

  /// quantized_conv2d or quantized_linear.
  KernelCase quantized(bool is_test = false) const {
    KernelCase use;
    use.op = shape.linear ? "quantized_linear" : "quantized_conv2d";
    use.attributes = common_attributes();
    use.attributes["activation"] = rule.activation;
    use.attributes["alpha"] = rule.alpha;
    use.attributes["multiplier_bits"] = rule.bits;
    use.attributes["gradient_scale"] = 1.0;
    use.attributes["is_test"] = is_test;
    use.in = {x,
              Tensor::scalar(x_scale),
              Tensor::scalar(rule.x_zero_point),
              w,
              floats(w_scales()),
              rule.bias ? floats(b) : Tensor(),
              Tensor::scalar(y_scale),
              Tensor::scalar(rule.y_zero_point)};
    use.out = {out_type(), std::nullopt, std::nullopt};
    if (!is_test) {
      use.out[1] = Type{DType::i32, shape.out_dims()};
      use.out[2] = Type{DType::i32, {2, shape.out_dims()[1]}};
    }
    return use;
  }

  /// integer_conv2d or integer_linear with the parameters that arith derives.
  KernelCase integer() const {
    std::vector<int32_t> bias, shift, multiplier, negative_shift, negative_multiplier;
    const bool in_float = form().keeps_scales;
    for (int64_t o = 0; o < shape.o; ++o)
      bias.push_back(rule.bias ? arith::bias_code(b[o], x_scale, w_scales()[rule.per_channel ? o : 0]) : 0);
    for (const float scale : w_scales()) {
      arith::Requantizer requantizer;
      const Status status = requantize_rule().for_layer({x_scale, scale, y_scale}, requantizer);
      if (!status.ok()) {
        ADD_FAILURE() << status.message();
        continue;
      }
      if (in_float) continue;
      const auto& [positive, negative, rounding] = std::get<arith::FixedScale>(requantizer);
      const auto stored = [&](arith::Multiplier m) { return arith::to_stored(requantize_rule().form, m); };
      shift.push_back(stored(positive).shift);
      multiplier.push_back(stored(positive).m);
      negative_shift.push_back(stored(negative).shift);
      negative_multiplier.push_back(stored(negative).m);
    }
    const bool leaky = rule.activation == "leaky_relu";
    const bool fixed = rule.requantize == "fixed_point";
    const arith::Clamp clamp = requantize_rule().clamp(y_scale, rule.y_zero_point);
    KernelCase use;
    use.op = shape.linear ? "integer_linear" : "integer_conv2d";
    use.attributes = common_attributes();
    if (!shape.linear) use.attributes["layout"] = std::string("channels_first");
    use.attributes["x_zero_point"] = int64_t{rule.x_zero_point};
    use.attributes["y_zero_point"] = int64_t{rule.y_zero_point};
    use.attributes["code_min"] = int64_t{clamp.low};
    use.attributes["code_max"] = int64_t{clamp.high};
    if (in_float) {
      use.attributes["x_scale"] = static_cast<double>(x_scale);
      use.attributes["y_scale"] = static_cast<double>(y_scale);
    }
    use.in = {x,
              w,
              form().is_engine ? floats(rule.bias ? b : std::vector<float>(b.size())) : ints(bias),
              in_float ? Tensor() : ints(shift),
              fixed ? ints(multiplier) : Tensor(),
              leaky ? ints(negative_shift) : Tensor(),
              leaky && fixed ? ints(negative_multiplier) : Tensor(),
              in_float ? floats(w_scales()) : Tensor()};
    use.out = {out_type()};
    return use;
  }

  static Tensor ints(const std::vector<int32_t>& values) {
    return Tensor::of<int32_t>(DType::i32, {static_cast<int64_t>(values.size())}, values);
  }
  static Tensor floats(const std::vector<float>& values) {
    return Tensor::of<float>(DType::f32, {static_cast<int64_t>(values.size())}, values);
  }

 private:
  void fill_codes(Random& random) {
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t drawn = random.below(rule.x_code_max - rule.x_code_min + 1) + rule.x_code_min;
      set_element(x, i, static_cast<double>(rule.fill == Fill::extreme ? rule.x_code_max : drawn));
    }
  }

  /// Chooses scales that spread the codes of the output over their range.
  void choose_scales(Random& random, int32_t w_max) {
    const bool powers = rule.requantize == "power_of_two" || rule.fill == Fill::ties;
    const double spread = std::sqrt(static_cast<double>(shape.weights_of_output())) * rule.x_code_max * w_max / 4.0;
    for (int64_t o = 0; o < shape.o; ++o) {
      w_scale.push_back(powers ? std::ldexp(1.0F, -7 - static_cast<int>(random.below(3)))
                               : 0.004F + 0.01F * random.uniform());
      b.push_back(static_cast<float>(spread * x_scale * w_scale.back() * (random.uniform() - 0.5)));
    }
    y_scale = static_cast<float>(spread * x_scale * 0.008 / rule.code_max) / rule.finer;
    if (powers) y_scale = std::ldexp(1.0F, std::ilogb(y_scale));
  }
};

}  // namespace halfstep::kernels

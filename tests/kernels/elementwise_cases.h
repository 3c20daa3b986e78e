// Elementwise operators on codes, as the training road and as the integer program see them.
#pragma once

#include "tests/kernels/layer_cases.h"

namespace halfstep::kernels {

/// A value of codes with its scale.
struct CodesValue {
  Tensor codes;
  float scale = 0.0625F;
  int32_t zero_point = 7;

  CodesValue(DType dtype, const Dims& dims, int32_t code_max, uint64_t stream, float of_scale = 0.0625F,
             int32_t of_zero_point = 7)
      : codes(dtype, dims), scale(of_scale), zero_point(of_zero_point) {
    Random random(3, stream);
    const auto fill = [&](auto elements) {
      for (auto& code : elements)
        code = static_cast<std::remove_reference_t<decltype(code)>>(random.below(code_max + 1));
    };
    dtype == DType::u8 ? fill(codes.data<uint8_t>()) : fill(codes.data<uint16_t>());
  }
};

/// Where the result goes.
struct CodesTarget {
  DType dtype = DType::u8;
  int32_t code_max = 255;
  float scale = 0.125F;
  int32_t zero_point = 100;
  std::string activation = "none";
  std::string requantize = "fixed_point";
  int64_t bits = 31;

  Attributes attributes(bool is_test) const {
    return {{"activation", activation},      {"requantize", requantize},
            {"multiplier_bits", bits},       {"code_min", int64_t{0}},
            {"code_max", int64_t{code_max}}, {"code_type", std::string(name(dtype))},
            {"gradient_scale", 1.0},         {"is_test", is_test}};
  }
  /// The clamp and zero point of an integer operator.
  Attributes integer_attributes() const {
    const auto form = *arith::parse_requantization(requantize);
    const arith::Clamp clamp =
        arith::fused_clamp(*arith::parse_activation(activation), scale, zero_point, 0, code_max, form);
    Attributes all = {{"y_zero_point", int64_t{zero_point}},
                      {"code_min", int64_t{clamp.low}},
                      {"code_max", int64_t{clamp.high}},
                      {"code_type", std::string(name(dtype))},
                      {"requantize", arith::keeps_scales(form) ? requantize : std::string("fixed_point")}};
    for (const char* unused : {"a_multiplier", "b_multiplier", "multiplier", "shift"}) all[unused] = int64_t{0};
    for (const char* unused : {"a_scale", "b_scale", "x_scale", "y_scale"}) all[unused] = 1.0;
    return all;
  }
  std::vector<std::optional<Type>> results(const Dims& dims, bool is_test) const {
    if (is_test) return {Type{dtype, dims}, std::nullopt, std::nullopt};
    return {Type{dtype, dims}, Type{DType::i32, dims}, Type{DType::f32, dims}};
  }
};

inline void append(std::vector<Tensor>& in, const CodesValue& value) {
  in.insert(in.end(), {value.codes, Tensor::scalar(value.scale), Tensor::scalar(value.zero_point)});
}
inline void append(std::vector<Tensor>& in, const CodesTarget& target) {
  in.insert(in.end(), {Tensor::scalar(target.scale), Tensor::scalar(target.zero_point)});
}

/// quantized_add or quantized_mul.
inline KernelCase quantized_pair(const std::string& op, const CodesValue& a, const CodesValue& b, const CodesTarget& y,
                                 bool is_test = false) {
  KernelCase use;
  use.op = op;
  use.attributes = y.attributes(is_test);
  append(use.in, a);
  append(use.in, b);
  append(use.in, y);
  use.out = y.results(a.codes.dims(), is_test);
  return use;
}

}  // namespace halfstep::kernels

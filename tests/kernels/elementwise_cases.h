// Elementwise operators on codes, in the form of the prepared network and in the form of the integer program.
#pragma once

#include <set>

#include "tests/kernels/layer_cases.h"

namespace halfstep::kernels {

/// A tensor of codes with its scale and zero point.
struct CodesValue {
  Tensor codes;
  float scale = 0.0625F;
  int32_t zero_point = 7;

  CodesValue(DType dtype, const Dims& dims, int32_t code_max, uint64_t stream, float of_scale = 0.0625F,
             int32_t of_zero_point = 7, int32_t code_min = 0)
      : codes(dtype, dims), scale(of_scale), zero_point(of_zero_point) {
    Random random(3, stream);
    for (int64_t i = 0; i < codes.size(); ++i)
      set_element(codes, i, static_cast<double>(random.below(code_max - code_min + 1) + int64_t{code_min}));
  }
};

/// Scale, zero point and codes of the result.
struct CodesTarget {
  DType dtype = DType::u8;
  int32_t code_max = 255;
  float scale = 0.125F;
  int32_t zero_point = 100;
  std::string activation = "none";
  std::string requantize = "fixed_point";
  int64_t bits = 31;
  int32_t code_min = 0;
  std::string shift_rounding = "half_up";

  Attributes attributes(bool is_test) const {
    return {{"activation", activation},
            {"requantize", requantize},
            {"multiplier_bits", bits},
            {"shift_rounding", shift_rounding},
            {"code_min", int64_t{code_min}},
            {"code_max", int64_t{code_max}},
            {"code_type", std::string(name(dtype))},
            {"gradient_scale", 1.0},
            {"is_test", is_test}};
  }
  arith::RequantizeRule rule() const {
    return {.form = *arith::parse_requantization(requantize),
            .activation = *arith::parse_activation(activation),
            .multiplier_bits = static_cast<int>(bits),
            .codes = {code_min, code_max},
            .rounding = *arith::parse_shift_rounding(shift_rounding)};
  }
  bool keeps_scales() const { return arith::traits(rule().form).keeps_scales; }
  /// The clamp and zero point of an integer operator.
  Attributes integer_attributes() const {
    const arith::Clamp clamp = rule().clamp(scale, zero_point);
    Attributes all = {{"y_zero_point", int64_t{zero_point}},
                      {"code_min", int64_t{clamp.low}},
                      {"code_max", int64_t{clamp.high}},
                      {"code_type", std::string(name(dtype))},
                      {"shift_rounding", shift_rounding},
                      {"requantize", keeps_scales() ? requantize : std::string("fixed_point")}};
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

/// Element counts of the windows that the image edges cut, each count once and ascending. Found by counting in every
/// window.
struct AverageCase {
  std::vector<int64_t> kernel, stride = {1, 1}, pad = {0, 0, 0, 0};
  bool counts_padding = true;

  Dims out_dims(const Dims& x) const {
    return {x[0], x[1], (x[2] + pad[0] + pad[2] - kernel[0]) / stride[0] + 1,
            (x[3] + pad[1] + pad[3] - kernel[1]) / stride[1] + 1};
  }
  Attributes attributes() const {
    const std::vector<int64_t> none;
    return {
        {"kernel", kernel},    {"stride", stride},         {"pad", pad},          {"count_include_pad", counts_padding},
        {"edge_counts", none}, {"edge_multipliers", none}, {"edge_shifts", none}, {"average_bits", int64_t{0}}};
  }
  /// Number of elements of x in each window that the image edges cut, found by counting in every window.
  std::vector<int64_t> cut_counts(const Dims& x) const {
    std::set<int64_t> counts;
    for (int64_t oy = 0; !counts_padding && oy < out_dims(x)[2]; ++oy) {
      for (int64_t ox = 0; ox < out_dims(x)[3]; ++ox) counts.insert(elements(x, oy, ox).size());
    }
    counts.erase(kernel[0] * kernel[1]);
    return {counts.begin(), counts.end()};
  }
  /// Offsets in a plane of the elements of x in window (oy, ox).
  std::vector<int64_t> elements(const Dims& x, int64_t oy, int64_t ox) const {
    std::vector<int64_t> offsets;
    for (int64_t ky = 0; ky < kernel[0]; ++ky) {
      for (int64_t kx = 0; kx < kernel[1]; ++kx) {
        const int64_t iy = oy * stride[0] - pad[0] + ky, ix = ox * stride[1] - pad[1] + kx;
        if (iy >= 0 && iy < x[2] && ix >= 0 && ix < x[3]) offsets.push_back(iy * x[3] + ix);
      }
    }
    return offsets;
  }

  KernelCase quantized(const CodesValue& x, const CodesTarget& y, bool is_test = false) const {
    KernelCase use{"quantized_avg_pool2d", y.attributes(is_test), {}, y.results(out_dims(x.codes.dims()), is_test)};
    use.attributes.merge(attributes());
    append(use.in, x);
    append(use.in, y);
    return use;
  }
  /// Integer form, with the multipliers that arith derives.
  KernelCase integer(const CodesValue& x, const CodesTarget& y) const {
    KernelCase use{"integer_avg_pool2d", y.integer_attributes(), {x.codes}, y.results(out_dims(x.codes.dims()), true)};
    use.out.resize(1);
    use.attributes.merge(attributes());
    use.attributes["x_zero_point"] = int64_t{x.zero_point};
    use.attributes["layout"] = std::string("channels_first");
    if (y.keeps_scales()) {
      use.attributes["x_scale"] = static_cast<double>(x.scale);
      use.attributes["y_scale"] = static_cast<double>(y.scale);
      return use;
    }
    const auto step = [&](int64_t count) {
      arith::Requantizer pool;
      EXPECT_TRUE(y.rule().for_pool(x.scale, y.scale, count, pool).ok());
      return std::get<arith::FixedScale>(pool).positive;
    };
    use.attributes["multiplier"] = int64_t{step(kernel[0] * kernel[1]).m};
    use.attributes["shift"] = int64_t{step(kernel[0] * kernel[1]).shift};
    std::vector<int64_t> multipliers, shifts;
    for (const int64_t count : cut_counts(x.codes.dims())) {
      multipliers.push_back(step(count).m);
      shifts.push_back(step(count).shift);
    }
    use.attributes["edge_counts"] = cut_counts(x.codes.dims());
    use.attributes["edge_multipliers"] = multipliers;
    use.attributes["edge_shifts"] = shifts;
    return use;
  }
};

/// quantized_add or quantized_mul.
inline KernelCase quantized_pair(const std::string& op, const CodesValue& a, const CodesValue& b, const CodesTarget& y,
                                 bool is_test = false) {
  KernelCase use;
  use.op = op;
  use.attributes = y.attributes(is_test);
  if (op == "quantized_add") use.attributes.emplace("subtract", false);
  append(use.in, a);
  append(use.in, b);
  append(use.in, y);
  use.out = y.results(a.codes.dims(), is_test);
  return use;
}

}  // namespace halfstep::kernels

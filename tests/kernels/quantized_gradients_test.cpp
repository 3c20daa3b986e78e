// requantize_grad, clamp_grad, lookup_grad, and the real values of weights and accumulators.
#include "tests/kernels/elementwise_cases.h"
#include "tests/kernels/function_attributes.h"

namespace halfstep::kernels {
namespace {

Tensor random_floats(const Dims& dims, uint64_t stream, float scale = 1.0F) {
  Tensor tensor(DType::f32, dims);
  Random random(11, stream);
  for (float& v : tensor.data<float>()) v = random.normal() * scale;
  return tensor;
}

Tensor random_ints(const Dims& dims, uint64_t stream, int64_t most) {
  Tensor tensor(DType::i32, dims);
  Random random(12, stream);
  for (int32_t& v : tensor.data<int32_t>())
    v = static_cast<int32_t>(static_cast<int64_t>(random.below(2 * most + 1)) - most);
  return tensor;
}

struct GradientRule {
  std::string activation = "none";
  std::string requantize = "fixed_point";
  std::string shift_rounding = "half_up";
  double alpha = 0.25;
  int32_t code_max = 255;
  float y_scale = 0.5F;
  int32_t y_zero_point = 100;
};

KernelCase requantize_grad(const GradientRule& rule, Tensor out_grad, Tensor acc, const std::vector<float>& w_scale) {
  KernelCase use;
  use.op = "requantize_grad";
  use.attributes = {{"shift_rounding", rule.shift_rounding}, {"activation", rule.activation},  {"alpha", rule.alpha},
                    {"requantize", rule.requantize},         {"multiplier_bits", int64_t{31}}, {"code_min", int64_t{0}},
                    {"code_max", int64_t{rule.code_max}},    {"gradient_scale", 0.5}};
  use.out = {out_grad.type(), Type{DType::f32, {1}}};
  use.in = {std::move(out_grad),          std::move(acc),
            Tensor::scalar(0.5F),         LayerCase::floats(w_scale),
            Tensor::scalar(rule.y_scale), Tensor::scalar(rule.y_zero_point)};
  return use;
}

KernelCase clamp_grad(const GradientRule& rule, Tensor out_grad, Tensor unclamped, Tensor real) {
  KernelCase use;
  use.op = "clamp_grad";
  use.attributes = {{"activation", rule.activation},
                    {"code_min", int64_t{0}},
                    {"code_max", int64_t{rule.code_max}},
                    {"gradient_scale", 0.5}};
  use.out = {out_grad.type(), Type{DType::f32, {1}}};
  use.in = {std::move(out_grad), std::move(unclamped), std::move(real), Tensor::scalar(rule.y_scale),
            Tensor::scalar(rule.y_zero_point)};
  return use;
}

struct Gradients {
  std::vector<float> values;
  float scale;
};

Gradients gradients_of(const Kernel& kernel, const KernelCase& use) {
  const auto got = run_kernel(kernel, use, CpuLevel::scalar);
  return {{got[0].data<float>().begin(), got[0].data<float>().end()}, got[1].data<float>()[0]};
}

/// Factor 0.5 * 0.5 / 0.5 = 0.5, zero point 100, codes to 255: accumulators -202, -201, 310, 311 have codes -1, 0 (half
/// up), 255, 256.
// A5.13, A5.14
TEST(quantized_gradients, pass_inside_the_clamp_edges_included) {
  const Tensor ones = LayerCase::floats({1, 1, 1, 1}).reshaped({1, 4});
  const KernelCase use = requantize_grad({}, ones, LayerCase::ints({-202, -201, 310, 311}).reshaped({1, 4}), {0.5F});
  const Gradients got = gradients_of(reference_requantize_grad, use);
  EXPECT_EQ(got.values, (std::vector<float>{0, 1, 1, 0}));
  // low - zp = -100 below, code - zp - r inside: (0 - 100) - (-100.5) = 0.5 and 155 - 155 = 0, high - zp = 155 above.
  // gradient_scale is 0.5.
  EXPECT_EQ(got.scale, 0.5F * (-100.0F + 0.5F + 0.0F + 155.0F));
}

// A5.13, A5.14
TEST(quantized_gradients, relu_gives_its_scale_nothing_below) {
  const Tensor ones = LayerCase::floats({1, 1, 1}).reshaped({1, 3});
  const KernelCase use =
      requantize_grad({.activation = "relu"}, ones, LayerCase::ints({-9, -1, 3}).reshaped({1, 3}), {0.5F});
  const Gradients got = gradients_of(reference_requantize_grad, use);
  EXPECT_EQ(got.values, (std::vector<float>{0, 1, 1}));  // -1 rounds to the zero point, which is inside
  EXPECT_EQ(got.scale, 0.5F * (0.5F + 0.5F));
}

/// 6 has the code 112, below code_max, so at the clip the value does not move with the scale. With code_max 110 the
/// codes end first.
// A5.14
TEST(quantized_gradients, relu6_edge_does_not_move_with_the_scale) {
  const Tensor one = LayerCase::floats({1}).reshaped({1, 1});
  const Tensor acc = LayerCase::ints({1000}).reshaped({1, 1});
  EXPECT_EQ(gradients_of(reference_requantize_grad, requantize_grad({.activation = "relu6"}, one, acc, {0.5F})).scale,
            0.0F);
  EXPECT_EQ(gradients_of(reference_requantize_grad,
                         requantize_grad({.activation = "relu6", .code_max = 110}, one, acc, {0.5F}))
                .scale,
            5.0F);
}

/// acc -7 with leaky_relu 0.25: the factor is 0.125, -0.875 rounds to -1, and r = -0.875.
// A5.13, A5.14
TEST(quantized_gradients, leaky_relu_scales_negative_accumulators) {
  const Tensor two = LayerCase::floats({2}).reshaped({1, 1});
  const Gradients got =
      gradients_of(reference_requantize_grad,
                   requantize_grad({.activation = "leaky_relu"}, two, LayerCase::ints({-7}).reshaped({1, 1}), {0.5F}));
  EXPECT_EQ(got.values, std::vector<float>{0.5F});
  EXPECT_EQ(got.scale, 0.5F * 2.0F * (-1.0F + 0.875F));
}

std::vector<GradientRule> rules() {
  return {{},
          {.activation = "relu"},
          {.activation = "relu6"},
          {.activation = "leaky_relu"},
          {.activation = "leaky_relu", .requantize = "power_of_two"},
          {.activation = "relu", .requantize = "float32"},
          {.activation = "relu6", .code_max = 15, .y_zero_point = 0}};
}

// A0.1
TEST(quantized_gradients, candidates_agree) {
  constexpr double kTolerance = 1e-6;  // the sums of the scale's gradient add in other orders
  for (const Dims& dims : {Dims{2, 16, 9, 7}, Dims{37, 10}, Dims{3, 1, 300, 299}, Dims{1, 1}, Dims{5, 3, 1, 1}}) {
    for (const GradientRule& rule : rules()) {
      SCOPED_TRACE(to_string(dims) + " " + rule.activation + " " + rule.requantize);
      for (const bool per_channel : {false, true}) {
        const std::vector<float> w_scale(per_channel ? dims[1] : 1, 0.25F);
        const KernelCase use = requantize_grad(rule, random_floats(dims, 1), random_ints(dims, 2, 1500), w_scale);
        expect_matches_reference(reference_requantize_grad, cpu_requantize_grad_planes, use, CpuLevel::avx2,
                                 kTolerance);
      }
      if (rule.activation == "leaky_relu") continue;
      const KernelCase use =
          clamp_grad(rule, random_floats(dims, 1), random_ints(dims, 2, 400), random_floats(dims, 3, 90.0F));
      expect_matches_reference(reference_clamp_grad, cpu_clamp_grad_chunks, use, CpuLevel::avx2, kTolerance);
    }
  }
}

/// The mask decides on codes, so it is compared bit for bit, on accumulators around every limit.
// A5.13
TEST(quantized_gradients, masks_are_exact) {
  Tensor acc(DType::i32, {4, 4000});
  for (int64_t i = 0; i < acc.size(); ++i) acc.data<int32_t>()[i] = static_cast<int32_t>(i % 4000) - 1500;
  Tensor ones(DType::f32, {4, 4000});
  std::fill(ones.data<float>().begin(), ones.data<float>().end(), 1.0F);
  std::vector<float> w_scale(4000);
  for (size_t c = 0; c < w_scale.size(); ++c) w_scale[c] = 0.1F + 0.0001F * static_cast<float>(c);
  for (const GradientRule& rule : rules()) {
    if (rule.requantize == "power_of_two") continue;
    const KernelCase use = requantize_grad(rule, ones, acc, w_scale);
    const Tensor want = run_kernel(reference_requantize_grad, use, CpuLevel::scalar)[0];
    for (const CpuLevel level : available_cpu_levels()) {
      if (level == CpuLevel::scalar) continue;
      EXPECT_TRUE(same_bits(want, run_kernel(cpu_requantize_grad_planes, use, level)[0]))
          << rule.activation << name(level);
    }
  }
}

/// A fixed scale needs no gradient, and a range of accumulators decides which gradients pass. The test covers the ends
/// of int32, with all accumulators inside and with none inside.
// A5.14
TEST(quantized_gradients, of_a_fixed_scale_are_exact) {
  const std::vector<int32_t> ends = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX - 1, INT32_MAX};
  std::vector<GradientRule> all = rules();
  all.push_back({.activation = "none", .y_scale = 1e7F});
  all.push_back({.activation = "relu", .y_zero_point = 255});
  all.push_back({.activation = "none", .y_scale = 1e7F, .y_zero_point = 100000});
  for (const Dims& dims : {Dims{3, 5, 9, 7}, Dims{37, 10}, Dims{700, 50}, Dims{4, 16, 128, 131}}) {
    std::vector<float> w_scale(dims[1]);
    for (size_t c = 0; c < w_scale.size(); ++c) w_scale[c] = c % 3 == 0 ? 0.25F : 0.5F;
    for (const GradientRule& rule : dims[0] == 4 ? std::vector<GradientRule>(1) : all) {
      SCOPED_TRACE(to_string(dims) + " " + rule.activation + " " + rule.requantize);
      KernelCase use = requantize_grad(rule, random_floats(dims, 1), random_ints(dims, 2, 1500), w_scale);
      std::copy(ends.begin(), ends.end(), use.in[1].data<int32_t>().begin());
      use.attributes["gradient_scale"] = 0.0;
      expect_matches_reference(reference_requantize_grad, cpu_requantize_grad_planes, use);
      EXPECT_EQ(gradients_of(reference_requantize_grad, use).scale, 0.0F);
      if (rule.activation == "leaky_relu") continue;
      use = clamp_grad(rule, random_floats(dims, 1), random_ints(dims, 2, 400), random_floats(dims, 3, 90.0F));
      use.attributes["gradient_scale"] = 0.0;
      expect_matches_reference(reference_clamp_grad, cpu_clamp_grad_chunks, use);
    }
  }
}

// A5.24
TEST(quantized_gradients, accumulators_become_real) {
  for (const std::string activation : {"none", "relu", "relu6", "leaky_relu"}) {
    for (const Dims& dims : {Dims{2, 16, 9, 7}, Dims{37, 10}, Dims{2, 3, 200, 200}, Dims{4, 16, 128, 131}}) {
      KernelCase use;
      use.op = "dequantize_accumulator";
      use.attributes = {{"activation", activation}, {"alpha", 0.1}};
      std::vector<float> w_scale(dims[1]);
      for (size_t c = 0; c < w_scale.size(); ++c) w_scale[c] = 0.003F + 0.01F * static_cast<float>(c);
      use.in = {random_ints(dims, 1, INT32_MAX), Tensor::scalar(0.07F), LayerCase::floats(w_scale)};
      use.out = {Type{DType::f32, dims}};
      expect_matches_reference(reference_dequantize_accumulator, cpu_dequantize_accumulator_planes, use);
      use.in[0] = random_ints(dims, 1, 2000);
      expect_matches_reference(reference_dequantize_accumulator, cpu_dequantize_accumulator_planes, use);
    }
  }
}

TEST(quantized_gradients, weights_become_real) {
  KernelCase use;
  use.op = "dequantize_weight";
  use.in = {Tensor(DType::i8, {2, 3}), LayerCase::floats({0.5F, 0.25F})};
  for (int i = 0; i < 6; ++i) use.in[0].data<int8_t>()[i] = static_cast<int8_t>(i - 3);
  use.out = {Type{DType::f32, {2, 3}}};
  const Tensor got = run_kernel(reference_dequantize_weight, use, CpuLevel::scalar)[0];
  EXPECT_EQ(std::vector<float>(got.data<float>().begin(), got.data<float>().end()),
            (std::vector<float>{-1.5F, -1.0F, -0.5F, 0.0F, 0.25F, 0.5F}));
}

KernelCase lookup_grad(const std::string& function, Tensor out_grad, Tensor x, float y_scale) {
  KernelCase use;
  use.op = "lookup_grad";
  use.attributes = function_attributes(function);
  use.attributes.merge(Attributes{{"x_code_min", int64_t{0}},
                                  {"x_code_max", int64_t{255}},
                                  {"code_min", int64_t{0}},
                                  {"code_max", int64_t{255}},
                                  {"gradient_scale", 0.5}});
  use.out = {out_grad.type(), Type{DType::f32, {1}}};
  use.in = {std::move(out_grad),     std::move(x),       Tensor::scalar(0.5F), Tensor::scalar(4),
            Tensor::scalar(y_scale), Tensor::scalar(100)};
  return use;
}

TEST(quantized_gradients, a_function_without_a_slope_has_none) {
  const KernelCase use = lookup_grad("ceil_grad_x", Tensor(DType::f32, {2}), Tensor(DType::u8, {2}), 0.25F);
  EXPECT_EQ(refusal_of(reference_lookup_grad, use, CpuLevel::scalar),
            errors::pointwise_function_without_slope("ceil_grad_x"));
}

/// Codes 4 and 8 are the values 0 and 2, with slopes 1/4 and s * (1 - s). Results of 0.5 and s lie on codes 102 and 104
/// with steps of 0.25, and beyond the last code with steps of 0.001.
// A5.15
TEST(quantized_gradients, lookup_has_the_slope_of_the_function) {
  Tensor x(DType::u8, {2});
  x.data<uint8_t>()[0] = 4;
  x.data<uint8_t>()[1] = 8;
  const Tensor out_grad = LayerCase::floats({2.0F, 1.0F});
  const double s = 1.0 / (1.0 + std::exp(-2.0));
  const Gradients inside = gradients_of(reference_lookup_grad, lookup_grad("sigmoid", out_grad, x, 0.25F));
  EXPECT_EQ(inside.values[0], 0.5F);
  EXPECT_FLOAT_EQ(inside.values[1], static_cast<float>(s * (1.0 - s)));
  EXPECT_FLOAT_EQ(inside.scale, static_cast<float>(0.5 * (4.0 - s / 0.25)));
  const Gradients beyond = gradients_of(reference_lookup_grad, lookup_grad("sigmoid", out_grad, x, 0.001F));
  EXPECT_EQ(beyond.values, (std::vector<float>{0.0F, 0.0F}));
  EXPECT_EQ(beyond.scale, 0.5F * 155.0F * 3.0F);
}

// A0.1
TEST(quantized_gradients, lookups_of_bytes_match_the_reference) {
  for (const int64_t size : {int64_t{1}, int64_t{65}, (int64_t{1} << 16) + 37}) {
    Tensor x(DType::u8, {size});
    Random random(14, 1);
    for (uint8_t& code : x.data<uint8_t>()) code = static_cast<uint8_t>(random.below(256));
    for (const std::string function : {"gelu", "sigmoid", "relu", "log"}) {
      for (const double gradient_scale : {0.0, 0.5}) {
        KernelCase use = lookup_grad(function, random_floats({size}, 2), x, 0.25F);
        use.attributes["gradient_scale"] = gradient_scale;
        expect_matches_reference(reference_lookup_grad, cpu_lookup_grad_bytes, use, CpuLevel::avx2, 1e-6);
      }
    }
  }
}

/// Clipped values have gradient 0, even if the incoming gradient is NaN.
// A5.15
TEST(quantized_gradients, lookups_cut_off_nan) {
  Tensor x(DType::u8, {70});
  std::fill(x.data<uint8_t>().begin(), x.data<uint8_t>().end(), uint8_t{200});  // 98, far above the last code
  Tensor out_grad(DType::f32, {70});
  for (float& v : out_grad.data<float>()) v = std::numeric_limits<float>::quiet_NaN();
  KernelCase use = lookup_grad("relu", out_grad, x, 0.001F);
  use.attributes["gradient_scale"] = 0.0;
  expect_matches_reference(reference_lookup_grad, cpu_lookup_grad_bytes, use);
  for (const float v : gradients_of(reference_lookup_grad, use).values) EXPECT_EQ(v, 0.0F);
}

// A0.1
TEST(quantized_gradients, weights_in_rows_match_the_reference) {
  for (const auto& [dims, scales] : {std::pair<Dims, size_t>{{7, 33, 3}, 7}, {{300, 300}, 300}, {{300, 300}, 1}}) {
    KernelCase use{"dequantize_weight", {}, {Tensor(DType::i8, dims)}, {Type{DType::f32, dims}}};
    Random random(15, scales);
    for (int8_t& code : use.in[0].data<int8_t>()) code = static_cast<int8_t>(static_cast<int>(random.below(256)) - 128);
    std::vector<float> w_scale(scales);
    for (float& scale : w_scale) scale = 0.01F + 0.1F * static_cast<float>(random.uniform());
    use.in.push_back(LayerCase::floats(w_scale));
    expect_matches_reference(reference_dequantize_weight, cpu_dequantize_weight_rows, use);
  }
}

}  // namespace
}  // namespace halfstep::kernels

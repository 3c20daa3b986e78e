// fake_quantize, its gradient, quantize and dequantize.
#include "halfstep/core/arith/code.h"
#include "tests/kernels/quantizer_cases.h"

namespace halfstep::kernels {
namespace {

const std::vector<float> kScales = {0.03F, 0.5F, 0.0078125F, 1e-3F};
const std::vector<int32_t> kZeroPoints = {0, 3, 128, 7, -5};

KernelCase fake_quantize(const QuantizerAttributes& attributes, int64_t axis, Tensor x, Tensor scale,
                         Tensor zero_point) {
  const Type type = x.type();
  return {"fake_quantize", attributes.on_axis(axis), {std::move(x), std::move(scale), std::move(zero_point)}, {type}};
}

KernelCase fake_quantize_grad(const QuantizerAttributes& attributes, int64_t axis, Tensor x, Tensor scale,
                              Tensor zero_point) {
  const Tensor out_grad = tie_tensor(x.dims(), 1.0F, 99);
  const Type type = x.type();
  return {"fake_quantize_grad",
          attributes.on_axis(axis),
          {std::move(x), std::move(scale), std::move(zero_point), out_grad},
          {type}};
}

KernelCase quantize(const QuantizerAttributes& attributes, int64_t axis, Tensor x, Tensor scale, Tensor zero_point) {
  const Type type{*parse_dtype(attributes.code_type), x.dims()};
  return {"quantize", attributes.on_axis(axis), {std::move(x), std::move(scale), std::move(zero_point)}, {type}};
}

using Make = KernelCase (*)(const QuantizerAttributes&, int64_t, Tensor, Tensor, Tensor);

void expect_levels_agree(const Kernel& reference, const Kernel& kernel, Make make,
                         const std::vector<QuantizerAttributes>& all) {
  const auto check = [&](const QuantizerAttributes& attributes, const Layout& layout) {
    SCOPED_TRACE(to_string(layout.dims) + " axis " + std::to_string(layout.axis) + " " + attributes.rounding + " " +
                 attributes.method + " " + attributes.code_type);
    const Dims channels = {layout.channels()};
    expect_matches_reference(
        reference, kernel,
        make(attributes, layout.axis, tie_tensor(layout.dims, 0.5F), cyclic<float>(DType::f32, channels, kScales),
             cyclic(DType::i32, channels, kZeroPoints)));
  };
  for (const QuantizerAttributes& attributes : all) {
    for (const Layout& layout : layouts()) check(attributes, layout);
  }
  for (const Layout& layout : large_layouts()) check(all[0], layout);
}

/// One channel for each pair of an invalid or unusual scale and zero point.
void expect_odd_parameters_agree(const Kernel& reference, const Kernel& kernel, Make make,
                                 const std::vector<QuantizerAttributes>& all) {
  const std::vector<float> scales = {0.0F, -0.0F, -0.5F, kNan, kInfinity, 1e-45F, 1e-39F, FLT_MAX, 3.0F};
  const std::vector<int32_t> zero_points = {0, INT32_MIN, INT32_MAX, 16777217, -40};
  const auto count = static_cast<int64_t>(scales.size() * zero_points.size());
  for (const QuantizerAttributes& attributes : all) {
    expect_matches_reference(reference, kernel,
                             make(attributes, 0, tie_tensor({count, 101}, 0.5F), cyclic(DType::f32, {count}, scales),
                                  cyclic(DType::i32, {count}, zero_points)));
  }
}

std::vector<float> results_of(const KernelCase& use, const Kernel& kernel) {
  const Tensor out = run_kernel(kernel, use, CpuLevel::scalar).at(0);
  return {out.data<float>().begin(), out.data<float>().end()};
}

// A2.1, A2.3
TEST(FakeQuantize, ReferenceFollowsTheWrittenRule) {
  const std::vector<float> x = {0.5F,    1.5F,     -0.5F, 2.5F,      -1.5F,     0.49999997F,
                                1000.0F, -1000.0F, kNan,  kInfinity, -kInfinity};
  const auto run = [&](const char* rounding, int64_t low, int64_t high, int32_t zero_point) {
    return results_of(
        fake_quantize({low, high, rounding}, -1, f32_tensor({11}, x), Tensor::scalar(1.0F), Tensor::scalar(zero_point)),
        reference_fake_quantize);
  };
  EXPECT_EQ(run("half_even", -8, 7, 0), (std::vector<float>{0, 2, 0, 2, -2, 0, 7, -8, -8, 7, -8}));
  EXPECT_EQ(run("half_away", -8, 7, 0), (std::vector<float>{1, 2, -1, 3, -2, 0, 7, -8, -8, 7, -8}));
  EXPECT_EQ(run("half_up", -8, 7, 0), (std::vector<float>{1, 2, 0, 3, -1, 0, 7, -8, -8, 7, -8}));
  EXPECT_EQ(run("half_even", 0, 15, 4), (std::vector<float>{0, 2, 0, 2, -2, 0, 11, -4, -4, 11, -4}));
}

// A quotient that is a tie need not be a tie as a product with the rounded reciprocal.
TEST(FakeQuantize, MethodsDifferWhereTheyMust) {
  int differing = 0;
  for (int i = 1; i < 2000; ++i) {
    const float x = (static_cast<float>(i) + 0.5F) * 0.7F;
    differing += arith::code_of(x, 0.7F, 0, {0, 65535, false}) != arith::code_of(x, 0.7F, 0, {0, 65535, true});
  }
  EXPECT_GT(differing, 10);
}

// A0.1
TEST(FakeQuantize, EveryLevelGivesTheBitsOfTheReference) {
  expect_levels_agree(reference_fake_quantize, cpu_fake_quantize_simd, fake_quantize, rounding_methods(0, 255));
  expect_odd_parameters_agree(reference_fake_quantize, cpu_fake_quantize_simd, fake_quantize,
                              rounding_methods(-32768, 65535));
}

// A2.4
TEST(FakeQuantizeGrad, PassesOutGradInsideTheEdges) {
  const std::vector<float> x = {-0.6F, -0.5F, 0.0F, 7.4F, 7.5F, 8.5F, kNan, kInfinity, -kInfinity};
  KernelCase use = fake_quantize_grad({0, 8}, -1, f32_tensor({9}, x), Tensor::scalar(1.0F), Tensor::scalar(int32_t{0}));
  use.in[3] = f32_tensor({9}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(results_of(use, reference_fake_quantize_grad), (std::vector<float>{0, 2, 3, 4, 5, 6, 0, 0, 0}));
}

// A0.1
TEST(FakeQuantizeGrad, EveryLevelGivesTheBitsOfTheReference) {
  expect_levels_agree(reference_fake_quantize_grad, cpu_fake_quantize_grad_simd, fake_quantize_grad,
                      rounding_methods(0, 255));
  expect_odd_parameters_agree(reference_fake_quantize_grad, cpu_fake_quantize_grad_simd, fake_quantize_grad,
                              rounding_methods(-32768, 65535));
}

// A0.1
TEST(Quantize, EveryLevelGivesTheBitsOfTheReference) {
  struct Codes {
    const char* type;
    int64_t low, high;
  };
  for (const Codes& codes : {Codes{"u8", 0, 255}, Codes{"u16", 0, 65535}, Codes{"u16", 0, 4095}, Codes{"i8", -128, 127},
                             Codes{"i8", -127, 127}, Codes{"i4", -8, 7}}) {
    const auto all = rounding_methods(codes.low, codes.high, codes.type);
    expect_levels_agree(reference_quantize, cpu_quantize_simd, quantize, all);
    expect_odd_parameters_agree(reference_quantize, cpu_quantize_simd, quantize, all);
  }
}

// A2.2
TEST(Quantize, DequantizedCodesAreTheFakeQuantizedValues) {
  const QuantizerAttributes attributes{0, 255, "half_even", "reciprocal"};
  const Tensor x = tie_tensor({6, 1001}, 0.03F);
  const Tensor scale = cyclic(DType::f32, {6}, kScales);
  const Tensor zero_point = cyclic(DType::i32, {6}, kZeroPoints);
  const Tensor codes =
      run_kernel(reference_quantize, quantize(attributes, 0, x, scale, zero_point), CpuLevel::scalar)[0];
  const KernelCase back{"dequantize", {{"axis", int64_t{0}}}, {codes, scale, zero_point}, {x.type()}};
  EXPECT_TRUE(same_bits(
      run_kernel(reference_fake_quantize, fake_quantize(attributes, 0, x, scale, zero_point), CpuLevel::scalar)[0],
      run_kernel(reference_dequantize, back, CpuLevel::scalar)[0]));
}

template <class Code>
Tensor all_codes(DType dtype, const Dims& dims) {
  std::vector<Code> codes;
  for (int32_t code = std::numeric_limits<Code>::min(); code <= std::numeric_limits<Code>::max(); ++code)
    codes.push_back(static_cast<Code>(code));
  return cyclic(dtype, dims, codes);
}

// A0.1
TEST(Dequantize, EveryLevelGivesTheBitsOfTheReference) {
  std::vector<Layout> all = layouts();
  all.push_back({{2, 65537}, 0});
  for (const Layout& layout : all) {
    const Dims channels = {layout.channels()};
    for (const Tensor& x : {all_codes<uint8_t>(DType::u8, layout.dims), all_codes<uint16_t>(DType::u16, layout.dims),
                            all_codes<int8_t>(DType::i8, layout.dims), all_codes<int8_t>(DType::i4, layout.dims)}) {
      SCOPED_TRACE(to_string(x.type()));
      expect_matches_reference(reference_dequantize, cpu_dequantize_simd,
                               {"dequantize",
                                {{"axis", layout.axis}},
                                {x, cyclic<float>(DType::f32, channels, {0.03F, 0.5F, kNan, kInfinity, -1e-42F}),
                                 cyclic<int32_t>(DType::i32, channels, {0, 128, -7, INT32_MIN, 65535})},
                                {Type{DType::f32, layout.dims}}});
    }
  }
}

TEST(Quantizers, RefuseWithAReason) {
  const KernelCase use =
      fake_quantize({}, 1, Tensor(DType::f32, {5, 4}), Tensor(DType::f32, {4}), Tensor(DType::i32, {4}));
  EXPECT_EQ(refusal_of(cpu_fake_quantize_simd, use, CpuLevel::avx2),
            errors::kernel_is_for_other_sizes("runs of 1 elements in a channel", "at least 4"));
  EXPECT_EQ(refusal_of(cpu_fake_quantize_simd, use, CpuLevel::scalar),
            errors::kernel_is_for_other_levels("scalar", "avx2 or higher"));
  EXPECT_TRUE(verdict_of(reference_fake_quantize, use, CpuLevel::scalar));
}

Tensor run_on_scales(const Kernel& kernel, const std::vector<Tensor>& in, Attributes attributes = {}) {
  return run_kernel(kernel, {kernel.name, std::move(attributes), in, {in[0].type()}}, CpuLevel::scalar)[0];
}

// A2.7
TEST(PowerOfTwoScale, NearestInTheLogarithm) {
  const Tensor scale = f32_tensor({9}, {1.0F, 1.41F, 1.42F, 0.75F, 0.7F, 1e-45F, FLT_MAX, 0.0F, kNan});
  EXPECT_TRUE(same_bits(f32_tensor({9}, {1.0F, 1.0F, 2.0F, 1.0F, 0.5F, 1e-45F, 0x1p127F, 0x1p-23F, 0x1p-23F}),
                        run_on_scales(reference_power_of_two_scale, {scale})));
  const Tensor out_grad = f32_tensor({9}, {3, 3, 3, 3, 3, 3, 3, 3, 3});
  const Tensor grad = run_on_scales(reference_power_of_two_scale_grad, {scale, out_grad});
  EXPECT_EQ(grad.data<float>()[2], 3.0F * 2.0F / 1.42F);
}

// A4.12
TEST(RaiseWeightScale, KeepsBiasesWithinTheirBound) {
  const auto raise = [](const Tensor& w_scale, bool power_of_two) {
    return run_kernel(reference_raise_weight_scale,
                      {"raise_weight_scale",
                       {{"power_of_two", power_of_two}},
                       {w_scale, Tensor::scalar(0.02F), f32_tensor({3}, {1.0F, -2.0F, 0.0F})},
                       {w_scale.type()}},
                      CpuLevel::scalar)[0];
  };
  const Tensor each = raise(f32_tensor({3}, {0.01F, 1e-12F, 1e-30F}), false);
  EXPECT_EQ(each.data<float>()[0], 0.01F);
  EXPECT_NEAR(each.data<float>()[1], 2.0 / (0.02 * 0x1p30), 1e-14);
  EXPECT_EQ(each.data<float>()[2], 1e-30F);
  const Tensor one = raise(Tensor::scalar(1e-12F), true);
  EXPECT_EQ(one.data<float>()[0], 0x1p-23F);  // 2 / (0.02 * 2^30) = 9.3e-8 lies between 2^-24 and 2^-23
}

}  // namespace
}  // namespace halfstep::kernels

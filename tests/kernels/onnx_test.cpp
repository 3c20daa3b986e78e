// ONNX's operators on codes: all levels against the reference, and the reference against plain loops and
// core/base/small_float.h. Golden files compare it with onnxruntime.
#include "halfstep/engine/kernels/quantizers/onnx/parameters.h"
#include "halfstep/engine/kernels/quantizers/onnx/rule.h"
#include "tests/kernels/quantizer_cases.h"

namespace halfstep::kernels {
namespace {

const std::vector<DType> kSmallFloats = {DType::f8_e4m3fn, DType::f8_e4m3fnuz, DType::f8_e5m2, DType::f8_e5m2fnuz,
                                         DType::f4_e2m1fn};
const std::vector<DType> kIntegers = {DType::i2, DType::u2, DType::i4,  DType::u4,
                                      DType::i8, DType::u8, DType::i16, DType::u16};

/// Random bits, and every number of the format with its midpoints and their neighbours.
std::vector<float> values_around(DType dtype) {
  std::vector<float> values = tie_values(4000, 0.5F, 3);
  Random random(11, 0);
  for (int i = 0; i < 200000; ++i) values.push_back(std::bit_cast<float>(random.bits()));
  const SmallFloat format = SmallFloat::of(dtype);
  const int codes = 1 << (1 + format.exponent_bits + format.mantissa_bits);
  for (int code = 0; code + 1 < codes; ++code) {
    const double number = decode(static_cast<uint16_t>(code), format);
    const double next = decode(static_cast<uint16_t>(code + 1), format);
    for (const double v : {number, (number + next) / 2, number * 1.5, number * 3}) {
      const auto value = static_cast<float>(v);
      for (const float near : {value, std::nextafterf(value, kInfinity), std::nextafterf(value, -kInfinity)})
        values.push_back(near);
    }
  }
  return values;
}

// A9.2, A9.8
TEST(OnnxRule, CodesOfSmallFloatsAreThoseOfTheFormat) {
  for (const DType dtype : kSmallFloats) {
    for (const bool saturate : {false, true}) {
      const onnx::SmallCodes codes = onnx::small_codes(dtype, saturate);
      for (const float value : values_around(dtype)) {
        const double without_sign = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : double{value};
        ASSERT_EQ(onnx::small_code(value, codes), encode(without_sign, SmallFloat::of(dtype), saturate))
            << name(dtype) << " of " << value << (saturate ? ", saturating" : "");
      }
    }
  }
}

// A9.3
TEST(OnnxRule, SmallFloatsStandForTheNumbersOfTheFormat) {
  for (const DType dtype : kSmallFloats) {
    const onnx::SmallCodes codes = onnx::small_codes(dtype, false);
    const SmallFloat format = SmallFloat::of(dtype);
    for (int code = 0; code < 1 << (1 + format.exponent_bits + format.mantissa_bits); ++code) {
      const double expected = decode(static_cast<uint16_t>(code), format);
      const float found = onnx::small_real(static_cast<uint8_t>(code), codes);
      ASSERT_TRUE(std::bit_cast<uint64_t>(double{found}) == std::bit_cast<uint64_t>(expected) ||
                  (std::isnan(found) && std::isnan(expected)))
          << name(dtype) << " code " << code << ": " << found;
    }
  }
}

TEST(OnnxRule, Bfloat16IsRoundedAsItsTypeIs) {
  for (const float value : values_around(DType::f8_e5m2)) {
    const auto expected = static_cast<float>(BFloat16(value));
    ASSERT_TRUE(onnx::round_to_bfloat16(value) == expected || std::isnan(expected)) << value;
  }
}

// A9.2, A9.8
TEST(OnnxRule, WhatInt32DoesNotHoldIsItsLowestNumber) {
  const onnx::CodeRange range = {-8, 7};
  EXPECT_EQ(onnx::wrapped_code(kInfinity, 0, range), -8);
  EXPECT_EQ(onnx::wrapped_code(kNan, -1, range), 7);  // -2^31 - 1 wraps
  EXPECT_EQ(onnx::wrapped_code(2147483520.0F, 3, range), 7);
  EXPECT_EQ(onnx::wrapped_code(2.5F, 1, range), 3);
  EXPECT_EQ(onnx::saturated_code(kInfinity, -1, range), 7);
  EXPECT_EQ(onnx::saturated_code(kNan, -1, range), -8);
  EXPECT_EQ(onnx::saturated_code(2.5F, 1, range), 3);
}

/// Elements of a float tensor in another float type.
Tensor as_type(const Tensor& f32, DType dtype) {
  Tensor tensor(dtype, f32.dims());
  for (int64_t i = 0; i < f32.size(); ++i) {
    const float value = f32.data<float>()[i];
    if (dtype == DType::f32) tensor.data<float>()[i] = value;
    if (dtype == DType::f16) tensor.data<uint16_t>()[i] = Half(value).bits;
    if (dtype == DType::bf16) tensor.data<uint16_t>()[i] = BFloat16(value).bits;
    if (dtype == DType::i32) tensor.data<int32_t>()[i] = std::isfinite(value) ? static_cast<int32_t>(i) * 7919 : -3;
  }
  return tensor;
}

/// Codes over the whole range of the type. With `zero_point`, small floats are 0.
Tensor code_tensor(DType dtype, const Dims& dims, bool zero_point) {
  Tensor tensor(dtype, dims);
  Random random(5, static_cast<uint64_t>(dtype));
  for (size_t i = 0; i < tensor.bytes(); ++i) tensor.raw()[i] = static_cast<std::byte>(random.bits());
  if (is_small_float(dtype) && zero_point) std::fill_n(tensor.raw(), tensor.bytes(), std::byte{0});
  if (is_small_float(dtype) || bits_of(dtype) >= 8) return tensor;
  const auto [low, high] = onnx::range_of(dtype);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.raw()[i] =
        static_cast<std::byte>(low + static_cast<int>(random.below(static_cast<uint64_t>(high - low + 1))));
  return tensor;
}

/// Extents of x and of the scale, and the axis and blocks that relate them.
struct ScaleLayout {
  Dims x, scale;
  int64_t axis = 1, block_size = 0;
};

const std::vector<ScaleLayout>& scale_layouts() {
  static const std::vector<ScaleLayout> all = {
      {{}, {}},
      {{0}, {}},
      {{17}, {1}},
      {{3, 50}, {}},
      {{4, 5, 70}, {5}},
      {{9, 33}, {33}, -1},
      {{3, 4, 7}, {4}},
      {{3, 0, 5}, {0}},
      {{5, 1100}, {1100}, 1},
      {{4, 45}, {4, 3}, 1, 16},
      {{4, 96}, {4, 3}, 1, 32},
      {{10, 20}, {4, 20}, 0, 3},
      {{2, 7, 3}, {2, 2, 3}, 1, 4},
      {{3, 9, 1030}, {3, 3, 1030}, 1, 4},
      {{5}, {3}, 0, 2},
  };
  return all;
}

std::vector<ScaleLayout> large_scale_layouts() {
  return {{{3, 65539}, {}}, {{2, 3, 65537}, {3}}, {{700, 301}, {700, 19}, 1, 16}, {{70, 3001}, {24, 3001}, 0, 3}};
}

KernelCase onnx_quantize(const ScaleLayout& layout, DType x, DType scale, DType code, bool saturate) {
  const Tensor values = as_type(tie_tensor(layout.x, 0.25F), x);
  const Tensor scales = as_type(
      cyclic<float>(DType::f32, layout.scale, {0.25F, 0.03F, 1.0F, 0.0F, -0.5F, 1e-40F, kNan, kInfinity, 3e-5F}),
      scale);
  return {"onnx_quantize_linear",
          {{"axis", layout.axis},
           {"block_size", layout.block_size},
           {"saturate", saturate},
           {"output_dtype", std::string()},
           {"precision", std::string()}},
          {values, scales, code_tensor(code, layout.scale, true)},
          {Type{code, layout.x}}};
}

KernelCase onnx_dequantize(const ScaleLayout& layout, DType code, DType scale, DType y, bool with_zero_point) {
  const Tensor scales =
      as_type(cyclic<float>(DType::f32, layout.scale, {0.25F, 0.03F, 0.0F, -0.5F, 1e-40F, kNan, kInfinity}), scale);
  return {
      "onnx_dequantize_linear",
      {{"axis", layout.axis}, {"block_size", layout.block_size}, {"output_dtype", std::string()}},
      {code_tensor(code, layout.x, false), scales, with_zero_point ? code_tensor(code, layout.scale, true) : Tensor()},
      {Type{y, layout.x}}};
}

void expect_quantize_agrees(const KernelCase& use) {
  SCOPED_TRACE(to_string(use.in[0].type()) + " by " + to_string(use.in[1].type()) + " to " + to_string(*use.out[0]));
  expect_matches_reference(reference_onnx_quantize_linear, cpu_onnx_quantize_linear_simd, use);
}

// A0.1
TEST(OnnxQuantize, EveryLevelGivesTheBitsOfTheReference) {
  for (const ScaleLayout& layout : scale_layouts()) {
    for (const DType code : kIntegers)
      for (const DType type : {DType::f32, DType::f16, DType::bf16})
        expect_quantize_agrees(onnx_quantize(layout, type, type, code, true));
    for (const DType code : kSmallFloats)
      for (const bool saturate : {false, true})
        expect_quantize_agrees(onnx_quantize(layout, DType::f32, DType::f32, code, saturate));
  }
  for (const ScaleLayout& layout : large_scale_layouts())
    expect_quantize_agrees(onnx_quantize(layout, DType::f32, DType::f32, DType::u8, true));
}

// A0.1
TEST(OnnxQuantize, InputAndScaleMayDifferInType) {
  const ScaleLayout layout = {{4, 45}, {4, 3}, 1, 16};
  for (const DType x : {DType::f32, DType::f16, DType::bf16}) {
    for (const DType scale : {DType::f32, DType::f16, DType::bf16}) {
      expect_quantize_agrees(onnx_quantize(layout, x, scale, DType::i8, true));
      expect_quantize_agrees(onnx_quantize(layout, x, scale, DType::f8_e5m2, false));
    }
  }
  const KernelCase whole = onnx_quantize(layout, DType::i32, DType::f16, DType::u4, true);
  expect_cuda_matches_reference(reference_onnx_quantize_linear, whole,
                                run_kernel(reference_onnx_quantize_linear, whole, CpuLevel::scalar));
  EXPECT_EQ(refusal_of(cpu_onnx_quantize_linear_simd, onnx_quantize(layout, DType::i32, DType::f32, DType::i8, true),
                       CpuLevel::avx2),
            errors::kernel_takes_other_types("x", "i32", "floats"));
}

// A0.1
TEST(OnnxDequantize, EveryLevelGivesTheBitsOfTheReference) {
  std::vector<DType> codes = kIntegers;
  codes.push_back(DType::i32);
  codes.insert(codes.end(), kSmallFloats.begin(), kSmallFloats.end());
  for (const ScaleLayout& layout : scale_layouts()) {
    for (const DType code : codes) {
      for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
        SCOPED_TRACE(std::string(name(code)) + to_string(layout.x) + " to " + std::string(name(type)));
        expect_matches_reference(reference_onnx_dequantize_linear, cpu_onnx_dequantize_linear_simd,
                                 onnx_dequantize(layout, code, type, type, true));
      }
    }
  }
  for (const ScaleLayout& layout : large_scale_layouts())
    expect_matches_reference(reference_onnx_dequantize_linear, cpu_onnx_dequantize_linear_simd,
                             onnx_dequantize(layout, DType::u4, DType::f16, DType::f32, false));
}

// A0.1
TEST(OnnxDynamicQuantize, EveryLevelGivesTheBitsOfTheReference) {
  for (const Dims& dims : {Dims{}, Dims{0}, Dims{1}, Dims{63}, Dims{64}, Dims{65}, Dims{3, 65539}}) {
    for (const float scale : {0.5F, 1e-42F, 1e36F}) {
      Tensor x = tie_tensor(dims, scale);
      for (const bool finite : {false, true}) {
        for (float& v : x.data<float>()) v = finite && !(std::fabs(v) < 1e30F) ? 0.25F : v;
        expect_matches_reference(
            reference_dynamic_quantize_linear, cpu_dynamic_quantize_linear_simd,
            {"dynamic_quantize_linear", {}, {x}, {Type{DType::u8, dims}, Type{DType::f32, {}}, Type{DType::u8, {}}}});
      }
    }
  }
}

KernelCase qlinear_add(DType dtype, const Dims& a, const Dims& b, const Dims& y) {
  const auto scalar = [](float value) { return f32_tensor({}, {value}); };
  return {"qlinear_add",
          {},
          {code_tensor(dtype, a, false), scalar(0.5F), code_tensor(dtype, {}, true), code_tensor(dtype, b, false),
           scalar(0.25F), Tensor(), scalar(0.4F), code_tensor(dtype, {}, true)},
          {Type{dtype, y}}};
}

// A0.1
TEST(OnnxQlinearAdd, EveryLevelGivesTheBitsOfTheReference) {
  struct Extents {
    Dims a, b, y;
  };
  const std::vector<Extents> all = {{{5, 33}, {5, 33}, {5, 33}},
                                    {{5, 33}, {33}, {5, 33}},
                                    {{1}, {3, 40}, {3, 40}},
                                    {{2, 6, 5, 7}, {6, 1, 1}, {2, 6, 5, 7}},
                                    {{6, 5, 1}, {2, 6, 5, 7}, {2, 6, 5, 7}},
                                    {{0, 3}, {3}, {0, 3}},
                                    {{3, 65539}, {3, 1}, {3, 65539}}};
  for (const Extents& extents : all) {
    for (const DType dtype : {DType::u8, DType::i8})
      expect_matches_reference(reference_qlinear_add, cpu_qlinear_add_simd,
                               qlinear_add(dtype, extents.a, extents.b, extents.y));
  }
  EXPECT_EQ(refusal_of(cpu_qlinear_add_simd, qlinear_add(DType::u8, {3, 4, 5}, {3, 1, 5}, {3, 4, 5}), CpuLevel::avx2),
            errors::kernel_needs_layout("operands that are broadcast along neighbouring axes"));
}

// A9.6
TEST(OnnxTables, HoldWhatTheReferenceComputes) {
  const Tensor scale = f32_tensor({}, {0.04F});
  for (const DType dtype : {DType::u8, DType::i8}) {
    const Tensor x = code_tensor(dtype, {3, 24001}, false), zero_point = code_tensor(dtype, {}, true);
    const std::vector<Tensor> in = {x, scale, zero_point, f32_tensor({}, {0.03F}), Tensor()};
    expect_matches_reference(reference_qlinear_leaky_relu, cpu_qlinear_leaky_relu_table,
                             {"qlinear_leaky_relu", {{"alpha", 0.1}}, in, {x.type()}});
    expect_matches_reference(reference_qlinear_sigmoid, cpu_qlinear_sigmoid_table,
                             {"qlinear_sigmoid", {}, in, {x.type()}});
  }
}

int64_t code_value(const Tensor& codes, int64_t index) {
  if (!codes.defined()) return 0;
  const std::byte byte = codes.raw()[index];
  return codes.dtype() == DType::i8 ? static_cast<int8_t>(byte) : static_cast<uint8_t>(byte);
}

// 40,000 products of 255 * 255 exceed 2^31: the sum is taken modulo 2^32.
// A9.4
TEST(OnnxMatmul, SumsWrap) {
  const Tensor a = cyclic<uint8_t>(DType::u8, {2, 40000}, {255}), b = cyclic<uint8_t>(DType::u8, {40000, 3}, {255});
  const auto y =
      run_kernel(reference_matmul_integer,
                 {"matmul_integer", {}, {a, b, Tensor(), Tensor()}, {Type{DType::i32, {2, 3}}}}, CpuLevel::scalar)[0];
  for (const int32_t sum : y.data<int32_t>())
    EXPECT_EQ(sum, static_cast<int32_t>(static_cast<uint32_t>(40000LL * 65025)));
}

// A9.4, A9.9
TEST(OnnxMatmul, IsThePlainSum) {
  for (const DType a_type : {DType::u8, DType::i8}) {
    for (const DType b_type : {DType::u8, DType::i8}) {
      const Tensor a = code_tensor(a_type, {3, 5, 9}, false), b = code_tensor(b_type, {9, 7}, false);
      const Tensor a_zero = code_tensor(a_type, {3, 5, 1}, true), b_zero = code_tensor(b_type, {7}, true);
      const auto y = run_kernel(reference_matmul_integer,
                                {"matmul_integer", {}, {a, b, a_zero, b_zero}, {Type{DType::i32, {3, 5, 7}}}},
                                CpuLevel::scalar, PieceOrder::shuffled)[0];
      for (int64_t i = 0; i < y.size(); ++i) {
        int64_t sum = 0;
        for (int64_t k = 0; k < 9; ++k)
          sum += (code_value(a, i / 7 * 9 + k) - code_value(a_zero, i / 7)) *
                 (code_value(b, k * 7 + i % 7) - code_value(b_zero, i % 7));
        ASSERT_EQ(y.data<int32_t>()[i], sum) << i;
      }
    }
  }
}

/// One element of a two-dimensional convolution of one image.
int64_t conv_sum(const Tensor& x, const Tensor& w, int64_t x_zero, int64_t o, int64_t oy, int64_t ox, int64_t stride,
                 int64_t dilation, int64_t top, int64_t left) {
  int64_t sum = 0;
  for (int64_t c = 0; c < w.dims()[1]; ++c) {
    for (int64_t k = 0; k < w.dims()[2] * w.dims()[3]; ++k) {
      const int64_t row = oy * stride - top + k / w.dims()[3] * dilation;
      const int64_t column = ox * stride - left + k % w.dims()[3] * dilation;
      if (row < 0 || column < 0 || row >= x.dims()[2] || column >= x.dims()[3]) continue;
      const int64_t at = (c * x.dims()[2] + row) * x.dims()[3] + column;
      sum += (code_value(x, at) - x_zero) * code_value(w, (o * w.dims()[1] + c) * w.dims()[2] * w.dims()[3] + k);
    }
  }
  return sum;
}

TEST(OnnxConv, AutomaticPaddingPutsTheOddElementWhereItsNameSays) {
  const Tensor x = code_tensor(DType::u8, {1, 3, 6, 7}, false), w = code_tensor(DType::i8, {4, 3, 3, 2}, false);
  const Tensor zero = code_tensor(DType::u8, {}, true);
  // 6 rows with stride 2 result in 3 rows, which span (3 - 1) * 2 + 3 = 7: one row of padding. 4 columns span 8: one
  // column of padding.
  for (const bool lower : {false, true}) {
    const auto y = run_kernel(reference_conv_integer,
                              {"conv_integer",
                               {{"groups", int64_t{1}},
                                {"stride", std::vector<int64_t>{2, 2}},
                                {"dilation", std::vector<int64_t>{}},
                                {"pad", std::vector<int64_t>{}},
                                {"auto_pad", std::string(lower ? "same_lower" : "same_upper")}},
                               {x, w, zero, Tensor()},
                               {Type{DType::i32, {1, 4, 3, 4}}}},
                              CpuLevel::scalar, PieceOrder::shuffled)[0];
    for (int64_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y.data<int32_t>()[i],
                conv_sum(x, w, code_value(zero, 0), i / 12, i / 4 % 3, i % 4, 2, 1, lower ? 1 : 0, lower ? 1 : 0))
          << i << (lower ? " lower" : " upper");
  }
}

// Half a step and an odd zero point: the zero point is added after the rounding, but before it in an addition.
// A9.4, A9.5
TEST(OnnxRule, ZeroPointsAndTies) {
  const onnx::CodeRange range = {-128, 127};
  EXPECT_EQ(onnx::requantized(5, 0.5F, 1, range), 3);  // rint(2.5) + 1
  EXPECT_EQ(onnx::requantized(-5, 0.5F, 1, range), -1);
  const auto add = arith::FloatSum::of(0.5F, 0, 0.5F, 0, 1.0F, 1);
  EXPECT_EQ(arith::whole_steps(add.steps(5, 0)), 4);  // rint(3.5)
}

}  // namespace
}  // namespace halfstep::kernels

// Sum, product, pool, rescaling and tables: candidates against the reference, and the prepared network's operators
// against the integer ones.
#include "tests/kernels/elementwise_cases.h"
#include "tests/kernels/function_attributes.h"

namespace halfstep::kernels {
namespace {

std::vector<int> codes_of(const Tensor& tensor) {
  std::vector<int> codes;
  if (tensor.dtype() == DType::u8) {
    for (const uint8_t code : tensor.data<uint8_t>()) codes.push_back(code);
  } else {
    for (const uint16_t code : tensor.data<uint16_t>()) codes.push_back(code);
  }
  return codes;
}

struct SumCase {
  CodesValue a, b;
  CodesTarget y;
};

std::vector<SumCase> sums() {
  const Dims dims = {2, 3, 9, 7};
  return {
      {{DType::u8, dims, 255, 1}, {DType::u8, dims, 255, 2, 0.03125F, 128}, {}},
      {{DType::u8, {65537}, 255, 1, 0.07F, 0}, {DType::u8, {65537}, 255, 2, 0.0313F, 255}, {.activation = "relu"}},
      {{DType::u16, dims, 4095, 1, 0.001F, 2000},
       {DType::u8, dims, 255, 2, 0.02F, 3},
       {.dtype = DType::u16, .code_max = 4095, .scale = 0.002F, .zero_point = 1999, .bits = 15}},
      {{DType::u8, {1}, 255, 1}, {DType::u16, {1}, 65535, 2}, {.dtype = DType::u16, .code_max = 65535, .scale = 3e-5F}},
      {{DType::u8, {40}, 255, 1, 0.5F},
       {DType::u8, {40}, 255, 2, 0.25F},
       {.scale = 2.0F, .activation = "relu6", .requantize = "power_of_two"}},
      {{DType::u8, {40}, 255, 1, 0x1p10F},
       {DType::u8, {40}, 255, 2, 0x1p-23F},
       {.scale = 0x1p12F, .requantize = "power_of_two"}},
      {{DType::u8, {40}, 255, 1, 1e-9F}, {DType::u8, {40}, 255, 2, 1.0F}, {.scale = 1e-6F}},
      {{DType::u8, {65537}, 255, 1, 0.07F, 3},
       {DType::u8, {65537}, 255, 2, 0.0313F, 131},
       {.scale = 0.1F, .activation = "relu", .requantize = "float32"}},
      {{DType::u16, {40}, 4095, 1, 0.5F},
       {DType::u8, {40}, 255, 2, 0.25F},
       {.dtype = DType::u16, .code_max = 4095, .requantize = "float32"}},
      {{DType::u8, {65537}, 255, 1, 0.05F, 3},
       {DType::u8, {65537}, 255, 2, 0.1F, 131},
       {.scale = 0.2F, .activation = "relu", .requantize = "fbgemm"}},
      {{DType::u16, {40}, 4095, 1, 0.5F},
       {DType::u8, {40}, 255, 2, 0.25F},
       {.dtype = DType::u16, .code_max = 4095, .requantize = "x86"}},
      {{DType::i8, {65537}, 127, 1, 0.07F, -3, -128},
       {DType::i8, {65537}, 127, 2, 0.0313F, 0, -127},
       {.dtype = DType::i8, .code_max = 127, .scale = 0.1F, .zero_point = -7, .code_min = -128}},
      {{DType::i16, dims, 2047, 1, 0.001F, 0, -2047},
       {DType::u8, dims, 255, 2, 0.02F, 3},
       {.dtype = DType::i16,
        .code_max = 2047,
        .scale = 0.004F,
        .zero_point = 5,
        .code_min = -2048,
        .shift_rounding = "half_even"}},
      {{DType::i8, {40}, 127, 1, 0.5F, 0, -128},
       {DType::u16, {40}, 255, 2, 0.25F},
       {.dtype = DType::u8, .activation = "relu", .requantize = "float32"}},
      {{DType::i8, {65537}, 127, 1, 0.05F, 3, -128},
       {DType::i8, {65537}, 127, 2, 0.1F, 13, -128},
       {.dtype = DType::i8, .code_max = 127, .scale = 0.2F, .zero_point = 1, .requantize = "x86", .code_min = -128}},
      {{DType::u8, {40}, 255, 1, 0.5F},
       {DType::u8, {40}, 255, 2, 0.25F},
       {.scale = 2.0F, .requantize = "power_of_two", .shift_rounding = "half_away"}},
      {{DType::u8, dims, 255, 1}, {DType::u8, dims, 255, 2, 0.03F, 128}, {.shift_rounding = "truncate"}},
      {{DType::u8, dims, 255, 1}, {DType::u8, dims, 255, 2, 0.03F, 128}, {.shift_rounding = "doubled"}},
  };
}

void set_scales(KernelCase& use, const std::map<std::string, float>& scales) {
  for (const auto& [attribute, scale] : scales) use.attributes[attribute] = static_cast<double>(scale);
}

/// integer_add with the factors that arith derives.
KernelCase integer_sum(const SumCase& sum) {
  KernelCase use;
  use.op = "integer_add";
  use.attributes = sum.y.integer_attributes();
  use.attributes["a_zero_point"] = int64_t{sum.a.zero_point};
  use.attributes["b_zero_point"] = int64_t{sum.b.zero_point};
  use.in = {sum.a.codes, sum.b.codes};
  use.out = {Type{sum.y.dtype, sum.a.codes.dims()}};
  if (sum.y.keeps_scales()) {
    set_scales(use, {{"a_scale", sum.a.scale}, {"b_scale", sum.b.scale}, {"y_scale", sum.y.scale}});
    return use;
  }
  arith::SumRequantizer requantizer;
  EXPECT_TRUE(sum.y.rule().for_sum({sum.a.scale, sum.b.scale, sum.y.scale}, requantizer).ok());
  const arith::MultiplierPair& pair = std::get<arith::FixedSum>(requantizer).factors;
  use.attributes["a_multiplier"] = int64_t{pair.a};
  use.attributes["b_multiplier"] = int64_t{pair.b};
  use.attributes["shift"] = int64_t{pair.shift};
  return use;
}

// A5.1, A7.1
TEST(quantized_elementwise, sums_agree_on_both_paths) {
  for (const SumCase& sum : sums()) {
    SCOPED_TRACE(to_string(sum.a.codes.type()) + " + " + to_string(sum.b.codes.type()) + " " + sum.y.requantize);
    const KernelCase training = quantized_pair("quantized_add", sum.a, sum.b, sum.y);
    expect_matches_reference(reference_quantized_add, cpu_quantized_add_simd, training);
    expect_matches_reference(reference_quantized_add, cpu_quantized_add_simd,
                             quantized_pair("quantized_add", sum.a, sum.b, sum.y, true));
    const KernelCase integer = integer_sum(sum);
    expect_matches_reference(reference_integer_add, cpu_integer_add_simd, integer);
    EXPECT_TRUE(same_bits(run_kernel(reference_quantized_add, training, CpuLevel::scalar)[0],
                          run_kernel(reference_integer_add, integer, CpuLevel::scalar)[0]));
  }
}

/// PyTorch's sum by hand: fma(0.1, 24, -f32(0.1 * 19)) is 0.50000006 and rounds up. 0.1 * 5 would be a tie and round to
/// 0. The zero point is added after the rounding.
// A10.13
TEST(quantized_elementwise, engine_sum_by_hand) {
  EXPECT_EQ(arith::EngineSum::of(0.1F, 19, 1.0F, 0, 1.0F, 21).code(24, 0), 22);
  EXPECT_EQ(arith::EngineSum::of(0.5F, 0, 1.0F, 0, 1.0F, 21).code(5, 0), 23);
}

/// Results of several MiB, which are stored past the caches.
// A0.1
TEST(quantized_elementwise, large_sums_agree) {
  const CodesValue a(DType::u8, {1050, 1000}, 255, 1), b(DType::u8, {1050, 1000}, 255, 2, 0.0625F, 4);
  expect_matches_reference(reference_quantized_add, cpu_quantized_add_simd, quantized_pair("quantized_add", a, b, {}));
}

/// Every shift and extreme multipliers, with sums on both sides of zero.
// A5.1
TEST(quantized_elementwise, integer_sums_under_every_shift) {
  const CodesValue a(DType::u8, {300}, 255, 1), b(DType::u16, {300}, 65535, 2, 0.0625F, 40000);
  KernelCase use = integer_sum({a, b, {}});
  for (int64_t shift = 1; shift <= 62; ++shift) {
    for (const int64_t multiplier : {int64_t{0}, int64_t{1}, int64_t{1} << 30, (int64_t{1} << 31) - 1}) {
      use.attributes["shift"] = shift;
      use.attributes["a_multiplier"] = multiplier;
      use.attributes["b_multiplier"] = (int64_t{1} << 31) - 1 - multiplier;
      expect_matches_reference(reference_integer_add, cpu_integer_add_simd, use);
    }
  }
}

/// 3 - 1 = 2 steps of 0.5 and 10 - 4 = 6 of 0.25 are 2.5, or 1.25 steps of 2: code 1 above 20.
// A5.1
TEST(quantized_elementwise, sum_by_hand) {
  CodesValue a(DType::u8, {1}, 0, 1, 0.5F, 1), b(DType::u8, {1}, 0, 2, 0.25F, 4);
  a.codes.data<uint8_t>()[0] = 3;
  b.codes.data<uint8_t>()[0] = 10;
  const auto got = run_kernel(reference_quantized_add,
                              quantized_pair("quantized_add", a, b, {.code_max = 20, .scale = 2.0F, .zero_point = 20}),
                              CpuLevel::scalar);
  EXPECT_EQ(codes_of(got[0]), std::vector<int>{20});
  EXPECT_EQ(got[1].data<int32_t>()[0], 21);
  EXPECT_EQ(got[2].data<float>()[0], 2.5F);
}

/// 17 * 9 = 153 steps of 0.125 are 38.25 steps of 0.5, where the zero point 3 does not matter. 17 * 10 are 42.5 steps.
/// The odd zero point is added before the rounding: rint(45.5) = 46, while rint(42.5) + 3 = 45.
// A4.9, A9.7
TEST(quantized_elementwise, float_product_by_hand) {
  CodesValue a(DType::u8, {2}, 0, 1, 0.25F, 0), b(DType::u8, {2}, 0, 2, 0.5F, 0);
  a.codes.data<uint8_t>()[0] = a.codes.data<uint8_t>()[1] = 17;
  b.codes.data<uint8_t>()[0] = 9;
  b.codes.data<uint8_t>()[1] = 10;
  const CodesTarget y{.scale = 0.5F, .zero_point = 3, .requantize = "float32"};
  const auto got = run_kernel(reference_quantized_mul, quantized_pair("quantized_mul", a, b, y), CpuLevel::scalar);
  EXPECT_EQ(codes_of(got[0]), (std::vector<int>{41, 46}));
}

double product_of(float a, float b) { return static_cast<double>(a) * static_cast<double>(b); }

KernelCase integer_with_factor(const std::string& op, double factor, const CodesTarget& y) {
  KernelCase use;
  use.op = op;
  use.attributes = y.integer_attributes();
  const auto multiplier = arith::to_multiplier(factor, static_cast<int>(y.bits));
  use.attributes["multiplier"] = int64_t{multiplier->m};
  use.attributes["shift"] = int64_t{multiplier->shift};
  return use;
}

// A5.1, A7.1
TEST(quantized_elementwise, products_agree_on_both_paths) {
  for (const Dims& b_dims : {Dims{2, 3, 4, 5}, Dims{2, 3, 1, 1}, Dims{1}}) {
    const CodesValue a(DType::u8, {2, 3, 4, 5}, 255, 1), b(DType::u16, b_dims, 4095, 2, 0.001F, 1000);
    const CodesTarget y{.scale = 0.11F, .activation = "relu6"};
    const auto training =
        run_kernel(reference_quantized_mul, quantized_pair("quantized_mul", a, b, y), CpuLevel::scalar);
    KernelCase use = integer_with_factor("integer_mul", product_of(a.scale, b.scale) / product_of(y.scale, 1), y);
    use.attributes["a_zero_point"] = int64_t{a.zero_point};
    use.attributes["b_zero_point"] = int64_t{b.zero_point};
    use.in = {a.codes, b.codes};
    use.out = {Type{y.dtype, a.codes.dims()}};
    EXPECT_TRUE(same_bits(training[0], run_kernel(reference_integer_mul, use, CpuLevel::scalar)[0]))
        << to_string(b_dims);
    const int64_t last_b = b.codes.size() - 1;
    EXPECT_EQ(training[2].data<float>()[119],
              static_cast<float>(a.codes.data<uint8_t>()[119] - 7) * 0.0625F *
                  (static_cast<float>(b.codes.data<uint16_t>()[last_b] - 1000) * 0.001F));
  }
}

TEST(quantized_elementwise, zero_points_beyond_a_byte_are_for_the_reference) {
  const CodesValue a(DType::u8, {2, 64}, 255, 1), b(DType::u8, {2, 64}, 255, 2);
  const CodesTarget y{.scale = 0.11F};
  KernelCase use = integer_with_factor("integer_mul", 0.01, y);
  use.attributes["a_zero_point"] = int64_t{256};
  use.attributes["b_zero_point"] = int64_t{0};
  use.in = {a.codes, b.codes};
  use.out = {Type{y.dtype, a.codes.dims()}};
  EXPECT_EQ(refusal_of(cpu_integer_mul_simd, use, CpuLevel::avx2),
            errors::kernel_is_for_other_zero_points(256, "-128 to 255"));
}

class ScaledForms : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(quantized_elementwise, ScaledForms, testing::Values("float32", "fbgemm", "x86"));

// A7.1
TEST_P(ScaledForms, products_and_pools_agree_on_both_paths) {
  const CodesValue a(DType::u8, {2, 3, 4, 5}, 255, 1), b(DType::u8, {2, 3, 1, 1}, 255, 2, 0.01F, 100);
  const CodesTarget y{.scale = 0.11F, .activation = "relu6", .requantize = GetParam()};
  KernelCase product;
  product.op = "integer_mul";
  product.attributes = y.integer_attributes();
  set_scales(product, {{"a_scale", a.scale}, {"b_scale", b.scale}, {"y_scale", y.scale}});
  product.attributes["a_zero_point"] = int64_t{a.zero_point};
  product.attributes["b_zero_point"] = int64_t{b.zero_point};
  product.in = {a.codes, b.codes};
  product.out = {Type{y.dtype, a.codes.dims()}};
  EXPECT_TRUE(
      same_bits(run_kernel(reference_quantized_mul, quantized_pair("quantized_mul", a, b, y), CpuLevel::scalar)[0],
                run_kernel(reference_integer_mul, product, CpuLevel::scalar)[0]));

  const AverageCase window{.kernel = {4, 5}};
  EXPECT_TRUE(same_bits(run_kernel(reference_quantized_avg_pool2d, window.quantized(a, y, true), CpuLevel::scalar)[0],
                        run_kernel(reference_integer_avg_pool2d, window.integer(a, y), CpuLevel::scalar)[0]));
}

/// An image and its averages on codes by both execution paths.
struct Engine {
  CodesValue x{DType::u8, {1, 1, 4, 5}, 255, 1, 0.068F, 171};
  AverageCase window{.kernel = {3, 2}, .pad = {1, 0, 1, 1}};

  Engine() {
    const std::vector<uint8_t> codes = {219, 141, 8,  195, 186, 216, 44, 22, 220, 5,
                                        138, 20,  76, 123, 108, 103, 7,  1,  31,  2};
    std::copy(codes.begin(), codes.end(), x.codes.data<uint8_t>().begin());
  }
  void expect(const CodesTarget& y, const std::vector<int>& engine) const {
    EXPECT_EQ(codes_of(run_kernel(reference_quantized_avg_pool2d, window.quantized(x, y, true), CpuLevel::scalar)[0]),
              engine);
    EXPECT_EQ(codes_of(run_kernel(reference_integer_avg_pool2d, window.integer(x, y), CpuLevel::scalar)[0]), engine);
  }
};

/// Codes of onnxruntime's QLinearAveragePool. An integer sum of codes would differ at three places.
// A4.9, A9.7
TEST(quantized_elementwise, float_windows_are_those_of_onnxruntime) {
  Engine engine;
  const CodesTarget y{.scale = 0.068F, .zero_point = 123, .requantize = "float32"};
  engine.expect(y, {112, 45, 83, 110, 98, 82, 4, 59, 92, 87, 40, 0, 31, 34, 57, 54, 26, 48, 53, 84});
  engine.window.counts_padding = false;
  engine.expect(y, {107, 6, 63, 104, 48, 82, 4, 59, 92, 52, 40, 0, 31, 34, 0, 19, 0, 10, 18, 7});
}

/// Codes of PyTorch's avg_pool2d.
// A10.13
TEST(quantized_elementwise, windows_of_the_engines_are_those_of_pytorch) {
  for (const char* form : {"fbgemm", "x86"}) {
    Engine engine;
    const CodesTarget y{.scale = 0.068F, .zero_point = 171, .requantize = form};
    engine.window.pad = {1, 1, 1, 1};
    engine.expect(y, {187, 160, 93, 131, 158, 146, 181, 130, 52, 107, 139, 135,
                      162, 88,  28, 79,  81,  105, 154, 102, 74, 95,  101, 132});
    engine.window.counts_padding = false;
    engine.expect(
        y, {217, 155, 54, 111, 151, 95, 191, 130, 52, 107, 139, 100, 152, 88, 28, 79, 81, 38, 121, 67, 26, 58, 66, 55});
  }
}

// A5.1, A7.1
TEST(quantized_elementwise, pools_agree_on_both_paths) {
  const CodesValue x(DType::u8, {2, 3, 9, 7}, 255, 1);
  const CodesTarget y{.scale = 0.05F};
  for (const bool counts_padding : {true, false}) {
    const AverageCase window{{3, 2}, {2, 1}, {1, 0, 1, 1}, counts_padding};
    const auto want = run_kernel(reference_quantized_avg_pool2d, window.quantized(x, y), CpuLevel::scalar);
    EXPECT_TRUE(
        same_bits(want[0], run_kernel(reference_integer_avg_pool2d, window.integer(x, y), CpuLevel::scalar)[0]));
    // The first window has a row of padding: four codes, divided by six or by four.
    const auto codes = x.codes.data<uint8_t>();
    const float sum = static_cast<float>(codes[0] + codes[1] + codes[7] + codes[8] - 28);
    EXPECT_EQ(want[2].data<float>()[0], sum * 0.0625F / (counts_padding ? 6.0F : 4.0F));
  }
}

// A4.11, A7.1
TEST(quantized_elementwise, rescaling_agrees_on_both_paths) {
  const CodesValue x(DType::u8, {256}, 255, 1);
  const CodesTarget y{
      .dtype = DType::u16, .code_max = 4095, .scale = 0.0041F, .zero_point = 1000, .activation = "relu"};
  KernelCase training;
  training.op = "quantized_rescale";
  training.attributes = y.attributes(false);
  append(training.in, x);
  append(training.in, y);
  training.out = y.results({256}, false);
  KernelCase integer = integer_with_factor("integer_rescale", product_of(x.scale, 1) / product_of(y.scale, 1), y);
  integer.attributes["x_zero_point"] = int64_t{x.zero_point};
  integer.in = {x.codes};
  integer.out = {training.out[0]};
  EXPECT_TRUE(same_bits(run_kernel(reference_quantized_rescale, training, CpuLevel::scalar)[0],
                        run_kernel(reference_integer_rescale, integer, CpuLevel::scalar)[0]));
}

KernelCase lookup(const CodesValue& x, const CodesTarget& y, const std::string& function, int64_t x_code_max,
                  int64_t x_code_min = 0) {
  KernelCase use;
  use.op = "quantized_lookup";
  use.attributes = y.attributes(false);
  use.attributes.merge(function_attributes(function));
  use.attributes["x_code_min"] = x_code_min;
  use.attributes["x_code_max"] = x_code_max;
  append(use.in, x);
  append(use.in, y);
  use.out = {Type{y.dtype, x.codes.dims()}};
  return use;
}

// A5.1
TEST(quantized_elementwise, tables_hold_the_function) {
  CodesValue x(DType::u8, {256}, 255, 1, 0.0625F, 128);
  for (int q = 0; q < 256; ++q) x.codes.data<uint8_t>()[q] = static_cast<uint8_t>(q);
  const auto got = run_kernel(reference_quantized_lookup,
                              lookup(x, {.scale = 1.0F / 256.0F, .zero_point = 0}, "sigmoid", 255), CpuLevel::scalar);
  KernelCase as_real{"lookup_real", function_attributes("sigmoid"), {}, {Type{DType::f32, {256}}}};
  as_real.attributes["x_code_min"] = int64_t{0};
  as_real.attributes["x_code_max"] = int64_t{255};
  append(as_real.in, x);
  const Tensor floats = run_kernel(reference_lookup_real, as_real, CpuLevel::scalar)[0];
  const std::vector<int> codes = codes_of(got[0]);
  EXPECT_EQ(codes[128], 128);  // sigmoid(0) = 1/2
  for (int q = 0; q < 256; ++q) {
    const double real = 1.0 / (1.0 + std::exp(-(q - 128) * 0.0625));
    EXPECT_EQ(codes[q], std::min(255.0, std::nearbyint(real * 256.0))) << q;
    EXPECT_EQ(floats.data<float>()[q], static_cast<float>(real)) << q;
  }
}

// A0.1
TEST(quantized_elementwise, distinct_codes_are_each_there_once) {
  KernelCase use{"distinct_codes", {}, {Tensor(DType::i8, {150001})}, {Type{DType::i8, {256}}}};
  const auto codes = use.in[0].data<int8_t>();
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int8_t>(i % 7 * 11 - 40);
  codes[150000] = -128;  // only in the last piece
  codes[3] = 127;
  expect_matches_reference(reference_distinct_codes, cpu_distinct_codes_bytes, use, CpuLevel::scalar);
  const Tensor result = run_kernel(cpu_distinct_codes_bytes, use, CpuLevel::scalar)[0];
  const auto found = result.data<int8_t>();
  EXPECT_EQ((std::vector<int>(found.begin(), found.begin() + 10)),
            (std::vector<int>{-128, -40, -29, -18, -7, 4, 15, 26, 127, 127}));
  EXPECT_EQ(found.back(), 127);
  use.in[0] = Tensor(DType::i8, {0});
  expect_matches_reference(reference_distinct_codes, cpu_distinct_codes_bytes, use, CpuLevel::scalar);
}

TEST(quantized_elementwise, codes_past_a_table_have_its_last_entry) {
  const CodesValue x(DType::u16, {64}, 65535, 1, 0.001F, 0);
  const auto got = run_kernel(reference_quantized_lookup, lookup(x, {.scale = 0.001F, .zero_point = 0}, "silu", 20),
                              CpuLevel::scalar);
  KernelCase integer;
  integer.op = "integer_lookup";
  integer.attributes = {{"x_code_min", int64_t{0}}, {"code_type", std::string("u8")}};
  integer.in = {x.codes, Tensor(DType::u8, {3})};
  integer.in[1].data<uint8_t>()[2] = 9;
  integer.out = {Type{DType::u8, {64}}};
  const auto looked_up = run_kernel(reference_integer_lookup, integer, CpuLevel::scalar);
  for (int i = 0; i < 64; ++i) {
    if (x.codes.data<uint16_t>()[i] >= 20) {
      EXPECT_EQ(codes_of(got[0])[i], 10);  // silu(0.020) = 0.0101
      EXPECT_EQ(codes_of(looked_up[0])[i], 9);
    }
  }
}

// A0.1
TEST(quantized_elementwise, tables_of_bytes_match_the_reference) {
  const int64_t size = (int64_t{1} << 16) + 37;
  const CodesValue bytes(DType::u8, {size}, 255, 1, 0.03F, 128), signs(DType::i8, {size}, 127, 2, 0.05F, 3, -128);
  const CodesTarget u8{.scale = 0.02F, .zero_point = 20}, i8{.dtype = DType::i8, .code_max = 100, .code_min = -90};
  for (const std::string function : {"gelu", "sigmoid", "log"}) {
    for (const CodesTarget& y : {u8, i8})
      expect_matches_reference(reference_quantized_lookup, cpu_quantized_lookup_bytes,
                               lookup(bytes, y, function, 200, 10));
    expect_matches_reference(reference_quantized_lookup, cpu_quantized_lookup_bytes,
                             lookup(signs, i8, function, 100, -100));
  }
  const CodesTarget words{.dtype = DType::u16, .code_max = 65535};
  EXPECT_EQ(refusal_of(cpu_quantized_lookup_bytes, lookup(bytes, words, "gelu", 255), CpuLevel::avx2),
            errors::kernel_takes_other_types("codes", "u16", "codes of one byte"));
}

TEST(quantized_elementwise, unknown_functions_are_refused) {
  const KernelCase use = lookup({DType::u8, {4}, 255, 1}, {}, "cosine", 255);
  EXPECT_EQ(refusal_of(reference_quantized_lookup, use, CpuLevel::scalar),
            errors::pointwise_function_unknown("cosine"));
}

}  // namespace
}  // namespace halfstep::kernels

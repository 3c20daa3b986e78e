// Extreme codes through every operator that accumulates, on both execution paths and on every CPU level of this
// machine. Results are compared with 128-bit integers. Narrower accumulators compute other codes in each of these
// cases.
#include "halfstep/core/arith/accumulator.h"
#include "tests/kernels/elementwise_cases.h"

namespace halfstep::kernels {
namespace {

using Wide = __int128;

int64_t floor_half_up(Wide steps, int shift) {
  const Wide rounded = (steps + (Wide{1} << (shift - 1))) >> shift;
  return static_cast<int64_t>(std::clamp<Wide>(rounded, INT64_MIN / 2, INT64_MAX / 2));
}

struct Codes {
  int32_t code, zero_point;
};

/// The ends of the range, with zero points at both ends.
std::vector<Codes> extremes(int32_t last) { return {{0, 0}, {last, 0}, {0, last}, {last, last}, {last, 1}, {1, last}}; }

CodesValue filled(DType dtype, const Dims& dims, Codes codes, float scale = 1.0F) {
  CodesValue value(dtype, dims, 0, 1, scale, codes.zero_point);
  const auto fill = [&](auto elements) {
    for (auto& element : elements) element = static_cast<std::remove_reference_t<decltype(element)>>(codes.code);
  };
  dtype == DType::u8 ? fill(value.codes.data<uint8_t>()) : fill(value.codes.data<uint16_t>());
  return value;
}

int64_t code_at(const Tensor& codes, int64_t i) {
  return codes.dtype() == DType::u8 ? codes.data<uint8_t>()[static_cast<size_t>(i)]
                                    : codes.data<uint16_t>()[static_cast<size_t>(i)];
}

/// u16 codes around the middle code, so that both signs are visible.
CodesTarget middle(double y_scale, std::string form = "fixed_point") {
  return {.dtype = DType::u16,
          .code_max = 65535,
          .scale = static_cast<float>(y_scale),
          .zero_point = 32768,
          .requantize = std::move(form)};
}

/// The code of an exact accumulator with the multiplier that arith derives from the factor.
int64_t code_of(Wide acc, double factor, const CodesTarget& y) {
  const auto step = *arith::to_multiplier(factor, static_cast<int>(y.bits));
  return std::clamp<int64_t>(floor_half_up(acc * step.m, step.shift) + y.zero_point, 0, y.code_max);
}

// A5.2
TEST(accumulators, products_of_extreme_codes) {
  for (const int32_t last : {255, 65535}) {
    const DType dtype = last == 255 ? DType::u8 : DType::u16;
    for (const Codes a : extremes(last)) {
      for (const Codes b : extremes(last)) {
        const Wide acc = Wide{a.code - a.zero_point} * (b.code - b.zero_point);
        const CodesValue left = filled(dtype, {3}, a), right = filled(dtype, {3}, b);
        for (const double y_scale : {1.0, 200001.0, 1.00001 * 0x1p17, 0.99999 * 0x1p31}) {
          const CodesTarget y = middle(y_scale);
          const int64_t want = code_of(acc, 1.0 / static_cast<double>(y.scale), y);
          const auto got =
              run_kernel(reference_quantized_mul, quantized_pair("quantized_mul", left, right, y), CpuLevel::scalar);
          EXPECT_EQ(code_at(got[0], 2), want) << a.code << " " << b.code << " " << y_scale;
          EXPECT_EQ(got[2].data<float>()[2],
                    static_cast<float>(a.code - a.zero_point) * static_cast<float>(b.code - b.zero_point));
        }
      }
    }
  }
}

/// The largest product with every shift. From shift 49 on, adding half a step overflows 64 bits.
// A4.1
TEST(accumulators, integer_products_under_every_shift) {
  for (const Codes a : extremes(65535)) {
    for (const Codes b : extremes(65535)) {
      const Wide acc = Wide{a.code - a.zero_point} * (b.code - b.zero_point);
      for (int64_t shift = 1; shift <= 62; ++shift) {
        for (const int64_t multiplier : {int64_t{1} << 30, (int64_t{1} << 31) - 1}) {
          KernelCase use{"integer_mul", middle(1).integer_attributes(), {}, {Type{DType::u16, {1}}}};
          use.attributes["a_zero_point"] = int64_t{a.zero_point};
          use.attributes["b_zero_point"] = int64_t{b.zero_point};
          use.attributes["multiplier"] = multiplier;
          use.attributes["shift"] = shift;
          use.in = {filled(DType::u16, {1}, a).codes, filled(DType::u16, {1}, b).codes};
          const int64_t steps = floor_half_up(acc * multiplier, static_cast<int>(shift));
          EXPECT_EQ(code_at(run_kernel(reference_integer_mul, use, CpuLevel::scalar)[0], 0),
                    std::clamp<int64_t>(steps + 32768, 0, 65535))
              << shift;
        }
      }
    }
  }
}

// A6.1
TEST(accumulators, products_beyond_2_to_the_47_are_refused) {
  const Codes codes = extremes(65535)[0];
  const CodesValue left = filled(DType::u16, {1, 32770}, codes), right = filled(DType::u16, {32770, 1}, codes);
  KernelCase use = quantized_pair("quantized_matmul", left, right, middle(1));
  for (auto& out : use.out) out->dims = {1, 1};
  use.attributes.insert({{"transpose_a", false}, {"transpose_b", false}});
  EXPECT_EQ(refusal_of(reference_quantized_matmul, use, CpuLevel::scalar), errors::kernel_product_too_deep(32770));
}

/// Rows of extreme codes times a column of them: 2^38 for 64 products of 16 bits, on both execution paths.
// A4.3, A5.1
TEST(accumulators, matrix_products_of_extreme_codes) {
  for (const int64_t depth : {1, 4, 64, 1000}) {
    for (const Codes a : extremes(65535)) {
      for (const Codes b : extremes(65535)) {
        const Wide acc = Wide{depth} * (a.code - a.zero_point) * (b.code - b.zero_point);
        const CodesValue left = filled(DType::u16, {2, depth}, a), right = filled(DType::u16, {depth, 3}, b);
        for (const double y_scale : {0.001, 1.0, 200001.0, 1.00001 * 0x1p24, 0.99999 * 0x1p31}) {
          const CodesTarget y = middle(y_scale);
          const int64_t want = code_of(acc, 1.0 / static_cast<double>(y.scale), y);
          KernelCase training = quantized_pair("quantized_matmul", left, right, y);
          for (auto& out : training.out) out->dims = {2, 3};
          training.attributes.insert({{"transpose_a", false}, {"transpose_b", false}});
          EXPECT_EQ(code_at(run_kernel(reference_quantized_matmul, training, CpuLevel::scalar)[0], 5), want)
              << depth << " " << a.code << " " << b.code << " " << y_scale;
          const auto step = *arith::to_multiplier(1.0 / static_cast<double>(y.scale), static_cast<int>(y.bits));
          KernelCase integer{"integer_matmul", {}, {left.codes, right.codes}, {training.out[0]}};
          integer.attributes = {{"transpose_a", false},
                                {"transpose_b", false},
                                {"a_zero_point", int64_t{a.zero_point}},
                                {"b_zero_point", int64_t{b.zero_point}},
                                {"multiplier", int64_t{step.m}},
                                {"shift", int64_t{step.shift}}};
          integer.attributes.merge(y.integer_attributes());
          EXPECT_EQ(code_at(run_kernel(reference_integer_matmul, integer, CpuLevel::scalar)[0], 5), want)
              << depth << " " << a.code << " " << b.code << " " << y_scale;
        }
      }
    }
  }
}

/// Factor of an average pool over an image with scale 1.
double pool_factor(float y_scale, int64_t count) {
  return 1.0 / (static_cast<double>(y_scale) * static_cast<double>(count));
}

/// `window` over an image of one code, on both execution paths. The factors keep the codes on both sides of the middle
/// code.
void expect_averages(DType dtype, const Dims& x_dims, const AverageCase& window, Codes codes, double y_scale) {
  const CodesValue x = filled(dtype, x_dims, codes);
  const CodesTarget y = middle(y_scale);
  const auto got = run_kernel(reference_quantized_avg_pool2d, window.quantized(x, y), CpuLevel::scalar);
  const Tensor integer = run_kernel(reference_integer_avg_pool2d, window.integer(x, y), CpuLevel::scalar)[0];
  const Dims out = window.out_dims(x_dims);
  for (int64_t i = 0; i < out[2] * out[3]; ++i) {
    const auto inside = static_cast<int64_t>(window.elements(x_dims, i / out[3], i % out[3]).size());
    const int64_t divisor = window.counts_padding ? window.kernel[0] * window.kernel[1] : inside;
    const Wide acc = Wide{inside} * (codes.code - codes.zero_point);
    const int64_t want = code_of(acc, pool_factor(y.scale, divisor), y);
    EXPECT_EQ(code_at(got[0], i), want) << codes.code << " " << codes.zero_point << " " << y_scale;
    EXPECT_EQ(code_at(integer, i), want) << codes.code << " " << codes.zero_point << " " << y_scale;
    EXPECT_EQ(got[2].data<float>()[i], static_cast<float>(static_cast<int64_t>(acc)) / static_cast<float>(divisor));
  }
}

/// 65536 elements of 16 bits have the largest sum that is multiplied at once: 2^32 - 65536.
// A5.1, A5.8
TEST(accumulators, averages_of_extreme_codes) {
  for (const Codes codes : extremes(65535)) {
    for (const double y_scale : {1.0, 2.00001, 1e-4}) {
      for (const int64_t side : {256, 257})
        expect_averages(DType::u16, {1, 1, side, side}, {.kernel = {side, side}}, codes, y_scale);
      expect_averages(DType::u16, {1, 1, 200, 201},
                      {.kernel = {200, 200}, .stride = {3, 2}, .pad = {3, 1, 0, 2}, .counts_padding = false}, codes,
                      y_scale);
    }
  }
  for (const Codes codes : extremes(255)) expect_averages(DType::u8, {1, 1, 9, 7}, {{9, 7}}, codes, 0.004);
}

/// A code outside int32 before the clamp keeps its side.
TEST(accumulators, unclamped_codes_end_at_int32) {
  for (const bool positive : {true, false}) {
    const CodesValue x = filled(DType::u16, {1, 1, 200, 200}, positive ? Codes{65535, 0} : Codes{0, 65535});
    const auto use = AverageCase{.kernel = {200, 200}}.quantized(x, middle(1e-6));
    EXPECT_EQ(run_kernel(reference_quantized_avg_pool2d, use, CpuLevel::scalar)[1].data<int32_t>()[0],
              positive ? INT32_MAX : INT32_MIN);
  }
}

/// u8 codes with a 16-bit zero point: the vectors add in 32 bits while these hold the sum of a window.
TEST(accumulators, averages_with_channels_last) {
  for (const int64_t side : {181, 182}) {
    const Dims dims = {1, 3, side, side};
    CodesTarget y{.zero_point = 255};
    y.scale = 65535.0F / 100.0F;
    const CodesValue x = filled(DType::u8, dims, {0, 65535});
    const KernelCase first = AverageCase{.kernel = {side, side}}.integer(x, y);
    KernelCase last = first;
    last.attributes.insert_or_assign("layout", std::string("channels_last"));
    last.in[0] = last.in[0].reshaped({1, side, side, 3});
    last.out[0]->dims = {1, 1, 1, 3};
    const int64_t want = code_of(Wide{side * side} * -65535, pool_factor(y.scale, side * side), {.zero_point = 255});
    EXPECT_EQ(code_at(run_kernel(reference_integer_avg_pool2d, first, CpuLevel::scalar)[0], 0), want);
    EXPECT_EQ(code_at(run_kernel(reference_integer_avg_pool2d, last, CpuLevel::scalar)[0], 2), want);
    for (const CpuLevel level : available_cpu_levels()) {
      if (level == CpuLevel::scalar) continue;
      const Diagnostic refusal = refusal_of(cpu_integer_avg_pool2d_sums, last, level);
      EXPECT_EQ(refusal.entry == nullptr, side == 181);
      if (refusal.entry != nullptr) {
        EXPECT_EQ(refusal, errors::kernel_sum_too_large("a window whose sum can reach 2170781340", "32 bits"));
        continue;
      }
      EXPECT_EQ(code_at(run_kernel(cpu_integer_avg_pool2d_sums, last, level)[0], 2), want);
    }
  }
}

// A5.1
TEST(accumulators, sums_of_extreme_codes) {
  for (const Codes a : extremes(65535)) {
    for (const Codes b : extremes(65535)) {
      const CodesValue left = filled(DType::u16, {37}, a), right = filled(DType::u16, {37}, b);
      for (const double y_scale : {0.5001, 1.00001, 3.0}) {
        const CodesTarget y = middle(y_scale);
        const double factor = 1.0 / static_cast<double>(y.scale);
        const auto pair = *arith::to_multiplier_pair(factor, factor, static_cast<int>(y.bits));
        const Wide sum = Wide{a.code - a.zero_point} * pair.a + Wide{b.code - b.zero_point} * pair.b;
        const int64_t want = std::clamp<int64_t>(floor_half_up(sum, pair.shift) + y.zero_point, 0, 65535);
        const KernelCase training = quantized_pair("quantized_add", left, right, y);
        KernelCase integer{"integer_add", y.integer_attributes(), {left.codes, right.codes}, {training.out[0]}};
        integer.attributes["a_zero_point"] = int64_t{a.zero_point};
        integer.attributes["b_zero_point"] = int64_t{b.zero_point};
        integer.attributes["a_multiplier"] = int64_t{pair.a};
        integer.attributes["b_multiplier"] = int64_t{pair.b};
        integer.attributes["shift"] = int64_t{pair.shift};
        EXPECT_EQ(code_at(run_kernel(reference_quantized_add, training, CpuLevel::scalar)[0], 36), want);
        EXPECT_EQ(code_at(run_kernel(reference_integer_add, integer, CpuLevel::scalar)[0], 36), want);
        expect_matches_reference(reference_quantized_add, cpu_quantized_add_simd, training);
        expect_matches_reference(reference_integer_add, cpu_integer_add_simd, integer);
      }
    }
  }
}

struct LongestSum {
  DType dtype;
  int32_t last;
  int64_t products;
};

/// The largest numbers of products by 8-bit weights that 32 bits hold: sums of 2147319810 and 2147481735. A float32
/// holds the sum of 518 products of bytes.
// A5.2
TEST(accumulators, layers_of_extreme_codes) {
  for (const LongestSum& sum : {LongestSum{DType::u16, 65535, 258}, LongestSum{DType::u8, 255, 66311}}) {
    for (const int32_t zero_point : {0, sum.last}) {
      LayerCase layer({.linear = true, .n = 2, .c = sum.products, .o = 4}, {.x_type = sum.dtype,
                                                                            .x_code_max = sum.last,
                                                                            .out_type = DType::u16,
                                                                            .code_max = 65535,
                                                                            .bias = false,
                                                                            .x_zero_point = zero_point,
                                                                            .y_zero_point = 32768,
                                                                            .fill = Fill::extreme});
      layer.y_scale = static_cast<float>(sum.products * sum.last) * 1e-4F;
      if (zero_point != 0) layer.x = filled(sum.dtype, layer.x.dims(), {0, 0}).codes;
      const auto got = run_kernel(reference_quantized_linear, layer.quantized(), CpuLevel::scalar);
      const Tensor integer = run_kernel(reference_integer_linear, layer.integer(), CpuLevel::scalar)[0];
      for (int64_t o = 0; o < 4; ++o) {
        const Wide acc = Wide{sum.products} * sum.last * 127 * (o % 2 == 0 ? 1 : -1) * (zero_point == 0 ? 1 : -1);
        const double factor = arith::product_factor(arith::Requantization::fixed_point, layer.x_scale,
                                                    layer.w_scale[static_cast<size_t>(o)], layer.y_scale);
        const int64_t want = code_of(acc, factor, middle(1));
        EXPECT_EQ(got[1].data<int32_t>()[4 + o], static_cast<int64_t>(acc));
        EXPECT_EQ(code_at(got[0], 4 + o), want);
        EXPECT_EQ(code_at(integer, 4 + o), want);
      }
      if (cpu_level() >= CpuLevel::avx2) {  // oneDNN has one level per process
        const auto fast = run_kernel(cpu_quantized_linear_onednn_f32, layer.quantized(), cpu_level());
        EXPECT_TRUE(same_bits(got[0], fast[0]) && same_bits(got[1], fast[1]));
      }
      expect_matches_reference(reference_integer_linear, cpu_integer_linear_tiles, layer.integer());
    }
  }
}

}  // namespace
}  // namespace halfstep::kernels

// Softmax and row normalizations of bytes, as wide as vectors: many codes, so that some lie next to a rounding
// boundary.
#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "halfstep/core/arith/row_norm.h"
#include "halfstep/core/arith/row_softmax.h"
#include "halfstep/engine/kernels/ops.h"
#include "tests/kernels/kernel_harness.h"

namespace halfstep::kernels {
namespace {

constexpr int64_t kExtents[] = {16, 33, 96, 128};
/// Multipliers and shifts of a softmax. With the third, each of 16 equal elements is half a step, less the part that
/// f32 cannot hold.
constexpr std::pair<int64_t, int64_t> kFactors[] = {
    {2139095040, 23}, {int64_t{1} << 30, 27}, {(int64_t{1} << 30) - 1, 27}, {3, 1}};

/// Rows of codes: spread over the whole range, over few codes, or all equal.
Tensor rows_of_codes(DType type, int64_t rows, int64_t extent, uint32_t seed) {
  std::mt19937 random(seed);
  Tensor x(type, {rows, extent});
  auto* codes = reinterpret_cast<uint8_t*>(x.raw());
  for (int64_t row = 0; row < rows; ++row) {
    const auto spread = row % 3 == 0 ? 256U : row % 3 == 1 ? 4U : 1U;
    const auto first = random() % (257 - spread);
    for (int64_t i = 0; i < extent; ++i) codes[row * extent + i] = static_cast<uint8_t>(first + random() % spread);
  }
  return x;
}

Attributes codes_in(DType type, int64_t zero_point) {
  const int64_t low = type == DType::i8 ? -128 : 0;
  return {{"code_type", std::string(name(type))},
          {"code_min", low},
          {"code_max", low + 255},
          {"y_zero_point", low + zero_point},
          {"shift_rounding", std::string("half_up")}};
}

void expect_norm(DType type, int64_t extent, bool centered, float y_scale) {
  std::mt19937 random(static_cast<uint32_t>(extent));
  std::vector<float> scale, bias;
  for (int64_t i = 0; i < extent; ++i) {
    scale.push_back(std::uniform_real_distribution<float>(-2, 2)(random));
    bias.push_back(i % 4 == 0
                       ? (static_cast<float>(i) + 0.5F) * y_scale  // half a step where all codes of a row are equal
                       : std::uniform_real_distribution<float>(-1, 1)(random));
  }
  arith::RowNorm norm;
  ASSERT_TRUE(arith::derive({scale, bias, 1e-5, 0.02F, y_scale, 8}, norm).ok());
  Tensor factors(DType::i32, {extent}), biases(DType::i64, {extent});
  std::ranges::copy(norm.factor, factors.data<int32_t>().begin());
  std::ranges::copy(norm.bias, biases.data<int64_t>().begin());
  Attributes attributes = codes_in(type, 121);
  attributes.insert({{"centered", centered},
                     {"epsilon", norm.epsilon},
                     {"guard", int64_t{norm.guard}},
                     {"row_epsilon", -1.0},
                     {"shift", int64_t{norm.shift}},
                     {"x_zero_point", int64_t{type == DType::i8 ? -11 : 117}}});
  const Tensor x = rows_of_codes(type, 600, extent, 1);
  expect_matches_reference(reference_integer_norm, cpu_integer_norm_simd,
                           {"integer_norm", attributes, {x, factors, biases}, {x.type()}});
}

// A5.9
TEST(ByteRows, NormalizedAsTheRuleSays) {
  for (const DType type : {DType::u8, DType::i8}) {
    for (const int64_t extent : kExtents) {
      for (const bool centered : {true, false}) {
        for (const float y_scale : {0.03F, 0.0001F}) expect_norm(type, extent, centered, y_scale);
      }
    }
  }
}

// A0.1
TEST(ByteRows, BiasesThatPass64BitsWrap) {
  Tensor x = rows_of_codes(DType::u8, 12, 32, 3), factors(DType::i32, {32}), biases(DType::i64, {32});
  std::ranges::fill(factors.data<int32_t>(), 1 << 30);
  std::ranges::fill(biases.data<int64_t>(), std::numeric_limits<int64_t>::max());
  Attributes attributes = codes_in(DType::u8, 7);
  attributes.insert({{"centered", true},
                     {"epsilon", int64_t{3}},
                     {"guard", int64_t{0}},
                     {"row_epsilon", -1.0},
                     {"shift", int64_t{60}},
                     {"x_zero_point", int64_t{0}}});
  expect_matches_reference(reference_integer_norm, cpu_integer_norm_simd,
                           {"integer_norm", attributes, {x, factors, biases}, {x.type()}});
}

// A5.9
TEST(ByteRows, SoftmaxAsTheRuleSays) {
  for (const DType type : {DType::u8, DType::i8}) {
    for (const int64_t extent : kExtents) {
      for (const auto& [multiplier, shift] : kFactors) {
        const arith::Exponentials exponentials(0.05F);
        Tensor fine(DType::i32, {256}), coarse(DType::i32, {1});
        std::ranges::copy(exponentials.fine, fine.data<int32_t>().begin());
        coarse.data<int32_t>()[0] = 1 << arith::kExponentialBits;
        Attributes attributes = codes_in(type, 0);
        attributes.insert({{"axis", int64_t{-1}}, {"flattened", false}, {"multiplier", multiplier}, {"shift", shift}});
        const Tensor x = rows_of_codes(type, 600, extent, 2);
        expect_matches_reference(reference_integer_softmax, cpu_integer_softmax_simd,
                                 {"integer_softmax", attributes, {x, fine, coarse}, {x.type()}});
      }
    }
  }
}

}  // namespace
}  // namespace halfstep::kernels

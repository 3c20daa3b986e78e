#include "halfstep/core/arith/requantizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halfstep/core/arith/errors.h"
#include "tests/support/error.h"

namespace halfstep::arith {
namespace {

void expect_clamp(Clamp clamp, int32_t low, int32_t high) {
  EXPECT_EQ(clamp.low, low);
  EXPECT_EQ(clamp.high, high);
}

/// Clamp of a rule with those codes.
Clamp fused_clamp(Activation activation, float scale, int32_t zero_point, int32_t low, int32_t high,
                  Requantization form = Requantization::fixed_point) {
  return RequantizeRule{.form = form, .activation = activation, .codes = {low, high}}.clamp(scale, zero_point);
}

// A4.10
TEST(FusedClamp, ActivationsNarrowTheRange) {
  expect_clamp(fused_clamp(Activation::none, 0.1F, 10, 0, 255), 0, 255);
  expect_clamp(fused_clamp(Activation::leaky_relu, 0.1F, 10, 0, 255), 0, 255);
  expect_clamp(fused_clamp(Activation::relu, 0.1F, 10, 0, 255), 10, 255);
  expect_clamp(fused_clamp(Activation::relu6, 0.1F, 10, 0, 255), 10, 70);
  expect_clamp(fused_clamp(Activation::relu6, 0.01F, 10, 0, 255), 10, 255);  // 6 lies above the range
  expect_clamp(fused_clamp(Activation::relu6, 4.0F, 0, 0, 255), 0, 2);       // 1.5 rounds to even
}

TEST(FusedClamp, IsARangeForAnyScaleAndZeroPoint) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float scale : {0.0F, -1e-30F, -1.0F, infinity, std::numeric_limits<float>::quiet_NaN(), 1e-45F}) {
    for (const int32_t zero_point : {INT32_MIN, -1, 0, 255, 256, INT32_MAX}) {
      const Clamp clamp = fused_clamp(Activation::relu6, scale, zero_point, 0, 255);
      EXPECT_LE(0, clamp.low);
      EXPECT_LE(clamp.low, clamp.high);
      EXPECT_LE(clamp.high, 255);
    }
  }
}

// A4.8
TEST(Clamp, EdgesAreInside) {
  const Clamp clamp{-8, 7};
  EXPECT_TRUE(clamp.holds(-8));
  EXPECT_TRUE(clamp.holds(7));
  EXPECT_FALSE(clamp.holds(8));
  EXPECT_EQ(clamp.apply(int64_t{1} << 40), 7);
  EXPECT_EQ(clamp.apply(-(int64_t{1} << 40)), -8);
}

/// Requantizer of a ratio of scales that has one.
Requantizer rescale(const RequantizeRule& rule, float ratio) {
  Requantizer result;
  const Status status = rule.for_rescale(ratio, 1.0F, result);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

// A4.10
TEST(Requantizer, LeakyReluHasItsOwnFactorBelowZero) {
  RequantizeRule rule{.activation = Activation::leaky_relu, .alpha = 0.1};
  EXPECT_EQ(requantize(rescale(rule, 0.5F), 100, 3), 53);
  EXPECT_EQ(requantize(rescale(rule, 0.5F), -100, 3), -2);
  rule.activation = Activation::relu;
  EXPECT_EQ(requantize(rescale(rule, 0.5F), -100, 3), -47);
}

TEST(Requantizer, PowersOfTwoShift) {
  const RequantizeRule rule{.form = Requantization::power_of_two, .activation = Activation::leaky_relu, .alpha = 0.125};
  const Requantizer shifts = rescale(rule, 0.25F);
  EXPECT_EQ(requantize(shifts, 6, 0), 2);     // 1.5 rounds up
  EXPECT_EQ(requantize(shifts, -48, 0), -1);  // -1.5 rounds up
}

/// Powers of two have a factor, whatever the bits of the multipliers for other scales.
// A4.4
TEST(Requantizer, PowersOfTwoNeedNoWideMultiplier) {
  for (const int bits : {15, 31}) {
    const RequantizeRule rule{.form = Requantization::power_of_two, .multiplier_bits = bits};
    for (int k = kMinPowerShift; k <= kMaxPowerShift; ++k) {
      const Requantizer shift = rescale(rule, std::ldexp(1.0F, -k));
      const double exact = std::floor(std::ldexp(-12345.0, -k) + 0.5);
      EXPECT_EQ(requantize(shift, -12345, 0), static_cast<int64_t>(exact)) << k;
      EXPECT_EQ(to_stored(rule.form, std::get<FixedScale>(shift).positive).shift, k);
    }
  }
}

TEST(Requantizer, SaysWhyThereIsNone) {
  const auto reason = [](const RequantizeRule& rule, float ratio) {
    Requantizer result;
    const Status status = rule.for_rescale(ratio, 1.0F, result);
    return status.ok() ? Diagnostic{} : status.diagnostic();
  };
  const auto* const power = "a power of two from 2^-32 to 2^29";
  RequantizeRule rule{.form = Requantization::power_of_two};
  EXPECT_EQ(reason(rule, 0.3F), errors::no_requantization_factor("", "0.3", power));
  rule.activation = Activation::leaky_relu;
  rule.alpha = 0.1;
  EXPECT_EQ(reason(rule, 0.25F), errors::no_requantization_factor(" of negative accumulators", "0.025", power));
  rule.form = Requantization::fixed_point;
  rule.alpha = 0.0;
  EXPECT_EQ(reason(rule, 0.25F), errors::no_requantization_factor(" of negative accumulators", 0, "a positive number"));
  EXPECT_EQ(reason(rule, 0x1p40F), errors::no_requantization_factor("", "1.09951e+12", "a shift of 1 to 62"));
  rule.form = Requantization::float32;
  EXPECT_EQ(reason(rule, 0.25F), errors::requantization_lacks("float32", "leaky_relu"));
  rule.activation = Activation::none;
  EXPECT_EQ(reason(rule, -1.0F), errors::float_requantization_factor(-1, 0));
}

// A4.11
TEST(Requantizer, FactorsAreProductsInDoubleFromTheLeft) {
  const float x = 0.1F, w = 0.003F, y = 0.7F;
  EXPECT_EQ(product_factor(Requantization::fixed_point, x, w, y),
            static_cast<double>(x) * static_cast<double>(w) / static_cast<double>(y));
  EXPECT_EQ(product_factor(Requantization::x86, x, w, y), static_cast<double>(x * w / y));
  Requantizer pool;
  ASSERT_TRUE(RequantizeRule().for_pool(x, y, 49, pool).ok());
  EXPECT_EQ(std::get<FixedScale>(pool).positive,
            to_multiplier(static_cast<double>(x) / (static_cast<double>(y) * 49.0), 31));
}

/// The factors of Vitis's DPU for windows of 3 x 3, 5 x 5, 6 x 6, 7 x 7 and 14 x 14 elements.
// A5.29
TEST(Requantizer, AveragesOfShiftsHaveSmallFactors) {
  const RequantizeRule rule{.form = Requantization::power_of_two, .average_bits = 5};
  const std::vector<std::pair<int64_t, Multiplier>> factors = {
      {9, {7, 6}}, {25, {5, 7}}, {36, {7, 8}}, {49, {21, 10}}, {196, {21, 12}}, {16, {1, 4}}, {1, {1, 0}}};
  for (const auto& [count, expected] : factors) {
    EXPECT_EQ(to_average(count, 5), expected) << count;
    Requantizer pool;
    ASSERT_TRUE(rule.for_pool(0.25F, 1.0F, count, pool).ok()) << count;
    EXPECT_EQ(std::get<FixedScale>(pool).positive, (Multiplier{expected.m, expected.shift + 2})) << count;
  }
  Requantizer pool;
  EXPECT_FALSE(rule.for_pool(0.3F, 1.0F, 9, pool).ok());
  ASSERT_TRUE(rule.for_pool(8.0F, 1.0F, 4, pool).ok());  // a factor above 1/2 needs a shift of 1
  EXPECT_EQ(std::get<FixedScale>(pool).positive, (Multiplier{4, 1}));
}

/// The sum of a and b with a result of scale 1, by its multipliers.
std::optional<FixedSum> sum_of(Requantization form, float a, float b) {
  SumRequantizer sum;
  const Status status = RequantizeRule{.form = form}.for_sum({a, b, 1.0F}, sum);
  return status.ok() ? std::optional(std::get<FixedSum>(sum)) : std::nullopt;
}

TEST(Sum, FactorsTooFarApartHaveNoCommonShift) {
  SumRequantizer sum;
  const RequantizeRule narrow{.form = Requantization::power_of_two, .multiplier_bits = 15};
  const Status status = narrow.for_sum({0x1p29F, 1.0F, 1.0F}, sum);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.diagnostic(), errors::no_common_shift("5.36871e+08", 1));
}

/// A difference is the sum with a negative factor, in every form: each step of b counts below zero.
// A4.11, A5.1
TEST(Sum, ADifferenceHasAFactorBelowZero) {
  for (const Requantization form : {Requantization::fixed_point, Requantization::power_of_two, Requantization::float32,
                                    Requantization::fbgemm, Requantization::x86}) {
    SumRequantizer difference;
    ASSERT_TRUE(RequantizeRule{.form = form}.for_sum({0.5F, -0.25F, 0.125F, 3, 7, 11}, difference).ok());
    std::visit(
        [](const auto& sum) {
          for (const int32_t a : {0, 3, 200}) {
            for (const int32_t b : {0, 7, 255}) EXPECT_EQ(sum.code(a, b), (a - 3) * 4 - (b - 7) * 2 + 11);
          }
        },
        difference);
  }
  EXPECT_FALSE(sum_of(Requantization::fixed_point, -0.5F, 0.5F));
}

// A4.11
TEST(Sum, PowersOfTwoAreExactAsLongAsBothFit) {
  const auto sum = sum_of(Requantization::power_of_two, 0.5F, 0x1p-30F);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->factors.a, 1 << 30);
  EXPECT_EQ(sum->factors.b, 2);
  EXPECT_EQ(sum->factors.shift, 31);
}

/// A summand whose steps are far smaller than those of the sum has no effect, in any form with shifts.
// A4.11
TEST(Sum, TheSmallerMayHaveAnyMagnitude) {
  for (const auto form : {Requantization::fixed_point, Requantization::power_of_two}) {
    const auto sum = sum_of(form, 0x1p-2F, 0x1p-35F);
    ASSERT_TRUE(sum);
    EXPECT_EQ(sum->factors.a, 1 << 30);
    EXPECT_EQ(sum->factors.b, 0);
    EXPECT_FALSE(sum_of(form, 0x1p-2F, 0.0F));
    EXPECT_FALSE(sum_of(form, 0x1p-40F, 0x1p-35F));
  }
}

TEST(Sum, PowerOfTwoTakesNothingElse) {
  EXPECT_TRUE(sum_of(Requantization::fixed_point, 0.5F, 0.75F));
  EXPECT_FALSE(sum_of(Requantization::power_of_two, 0.5F, 0.75F));
  EXPECT_FALSE(sum_of(Requantization::power_of_two, 0.75F, 0.5F));
}

/// The backward pass of an engine uses the float32 factor and the engine's clamp.
// A5.16
TEST(Backward, IsThatOfFloat32ForEngines) {
  EXPECT_EQ(RequantizeRule{.form = Requantization::x86}.backward().form, Requantization::float32);
  EXPECT_EQ(RequantizeRule{.form = Requantization::power_of_two}.backward().form, Requantization::power_of_two);
}

// A4.10
TEST(Engines, SixIsRoundedInFloat32) {
  const auto high = [](Requantization form) { return fused_clamp(Activation::relu6, 0.1F, 10, 0, 255, form).high; };
  EXPECT_EQ(high(Requantization::fbgemm), 70);
  int differing = 0;
  for (int k = 10; k < 200; ++k) {
    const auto scale = static_cast<float>(6.0 / (k + 0.5));
    const Clamp engine = fused_clamp(Activation::relu6, scale, 10, 0, 255, Requantization::x86);
    EXPECT_EQ(engine.high, static_cast<int32_t>(std::nearbyint(6.0F * (1.0F / scale))) + 10);
    differing += engine.high != fused_clamp(Activation::relu6, scale, 10, 0, 255).high ? 1 : 0;
  }
  EXPECT_GT(differing, 0);
}

TEST(Activation, HaveNames) {
  EXPECT_EQ(parse_activation("none"), Activation::none);
  EXPECT_EQ(parse_activation("relu"), Activation::relu);
  EXPECT_EQ(parse_activation("relu6"), Activation::relu6);
  EXPECT_EQ(parse_activation("leaky_relu"), Activation::leaky_relu);
  EXPECT_EQ(parse_activation("silu"), std::nullopt);
}

}  // namespace
}  // namespace halfstep::arith

#include "halfstep/arith/requantize.h"

#include <gtest/gtest.h>

#include <limits>

namespace halfstep::arith {
namespace {

void expect_clamp(Clamp clamp, int32_t low, int32_t high) {
  EXPECT_EQ(clamp.low, low);
  EXPECT_EQ(clamp.high, high);
}

TEST(FusedClamp, ActivationsNarrowTheRange) {
  expect_clamp(fused_clamp(Activation::none, 0.1F, 10, 0, 255), 0, 255);
  expect_clamp(fused_clamp(Activation::leaky_relu, 0.1F, 10, 0, 255), 0, 255);
  expect_clamp(fused_clamp(Activation::relu, 0.1F, 10, 0, 255), 10, 255);
  expect_clamp(fused_clamp(Activation::relu6, 0.1F, 10, 0, 255), 10, 70);
  expect_clamp(fused_clamp(Activation::relu6, 0.01F, 10, 0, 255), 10, 255);  // 6 lies above the range
  expect_clamp(fused_clamp(Activation::relu6, 4.0F, 0, 0, 255), 0, 2);       // 1.5 goes to even
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

TEST(Clamp, EdgesAreInside) {
  const Clamp clamp{-8, 7};
  EXPECT_TRUE(clamp.holds(-8));
  EXPECT_TRUE(clamp.holds(7));
  EXPECT_FALSE(clamp.holds(8));
  EXPECT_EQ(clamp.apply(int64_t{1} << 40), 7);
  EXPECT_EQ(clamp.apply(-(int64_t{1} << 40)), -8);
}

TEST(Scaling, LeakyReluHasItsOwnFactorBelowZero) {
  const auto scaling = to_scaling(0.5, Requantization::fixed_point, 31, Activation::leaky_relu, 0.1);
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->apply(100), 50);
  EXPECT_EQ(scaling->apply(-100), -5);
  EXPECT_EQ(to_scaling(0.5, Requantization::fixed_point, 31, Activation::relu, 0.1)->apply(-100), -50);
}

TEST(Scaling, PowersOfTwoShift) {
  const auto scaling = to_scaling(0.25, Requantization::power_of_two, 31, Activation::leaky_relu, 0.125);
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->apply(6), 2);     // 1.5 goes up
  EXPECT_EQ(scaling->apply(-48), -1);  // -1.5 goes up
  EXPECT_FALSE(to_scaling(0.3, Requantization::power_of_two, 31, Activation::none, 0.0));
  EXPECT_FALSE(to_scaling(0.25, Requantization::power_of_two, 31, Activation::leaky_relu, 0.1));
  EXPECT_FALSE(to_scaling(0.25, Requantization::fixed_point, 31, Activation::leaky_relu, 0.0));
}

TEST(Factors, AreProductsInDoubleFromTheLeft) {
  const float x = 0.1F, w = 0.003F, y = 0.7F;
  EXPECT_EQ(product_factor(x, w, y), static_cast<double>(x) * static_cast<double>(w) / static_cast<double>(y));
  EXPECT_EQ(pool_factor(x, y, 49), static_cast<double>(x) / (static_cast<double>(y) * 49.0));
  EXPECT_EQ(ratio_factor(x, y), static_cast<double>(x) / static_cast<double>(y));
  EXPECT_EQ(product_factor(x, w, y, Requantization::float32), static_cast<double>(x * w / y));
  EXPECT_EQ(pool_factor(x, y, 49, Requantization::float32), static_cast<double>(x / (y * 49.0F)));
}

/// Scales of 0.5 give sums in quarters. Half steps go to even before the zero point in FBGEMM, with it in oneDNN.
TEST(Engines, LayersByHand) {
  const auto code = [](Requantization form, const EngineLayer& layer, int32_t acc, float bias) {
    return engine_layer_step(form, layer, 0.5F, 0.5F, 0.5F, bias).code(acc, 3);
  };
  const EngineLayer dense{1, false}, many{101, true}, matrix{};
  EXPECT_EQ(code(Requantization::fbgemm, dense, 5, 0.0F), 2 + 3);
  EXPECT_EQ(code(Requantization::x86, dense, 5, 0.0F), 6);
  EXPECT_EQ(code(Requantization::x86, {7, true}, 5, 0.0F), 6);
  EXPECT_EQ(code(Requantization::x86, many, 5, 0.0F), 2 + 3);
  EXPECT_EQ(code(Requantization::x86, matrix, 5, 0.0F), 2 + 3);
  EXPECT_EQ(code(Requantization::fbgemm, dense, 3, 0.25F), 2 + 3);
  EXPECT_EQ(code(Requantization::x86, dense, -30, 0.25F), -12);
}

TEST(Engines, TakeNoLayerBeyondNumbers) {
  EXPECT_TRUE(fbgemm_step(0.5F, 0.5F, 0.5F, 1.0F).is_legal());
  EXPECT_FALSE(fbgemm_step(0.5F, 0.5F, 0.0F, 1.0F).is_legal());
  EXPECT_FALSE(fbgemm_step(0.5F, 0.0F, 0.5F, 1.0F).is_legal());
  EXPECT_FALSE(onednn_step({1, false}, 0.5F, 0.5F, 0.5F, NAN).is_legal());
}

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

/// The zero point of a product is inside the rounding of float32; everywhere else it is added to whole steps.
TEST(Scaling, ProductsInFloat32RoundWithTheZeroPoint) {
  const Scaling floating = *to_scaling(0.5, Requantization::float32, 31, Activation::none, 0.0);
  EXPECT_EQ(floating.code(1, 1), 1);
  EXPECT_EQ(floating.product_code(1, 1), 2);
  const Scaling fixed = *to_scaling(0.5, Requantization::fixed_point, 31, Activation::none, 0.0);
  EXPECT_EQ(fixed.product_code(1, 1), fixed.code(1, 1));
  const Scaling engine = Scaling::of(Requantization::fbgemm, {1.0F, 1.0F, 0.0F, 0.5F, true});
  EXPECT_EQ(engine.code(1, 1), 2);
}

}  // namespace
}  // namespace halfstep::arith

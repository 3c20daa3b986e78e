// Requantization in float32: every operation rounds to float32, and steps round half to even. Also the PyTorch engine
// of each layer, and the order of its operations.
#include "halfstep/core/arith/float_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace halfstep::arith {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A4.11
TEST(FloatScale, FactorsGoFromLeftToRight) {
  EXPECT_EQ(float_product_factor(0.1F, 0.3F, 0.7F), (0.1F * 0.3F) / 0.7F);
  EXPECT_EQ(float_pool_factor(0.1F, 0.7F, 9.0F), 0.1F / (0.7F * 9.0F));
}

TEST(FloatScale, StepsAreIntegersHalfToEven) {
  EXPECT_EQ(whole_steps(0.5F), 0);
  EXPECT_EQ(whole_steps(1.5F), 2);
  EXPECT_EQ(whole_steps(-2.5F), -2);
}

TEST(FloatScale, StepsSaturateFarBeyondAnyCode) {
  for (const float steps : {1e30F, kInfinity, 0x1p31F}) {
    EXPECT_EQ(whole_steps(steps), 1 << 30);
    EXPECT_EQ(whole_steps(-steps), -(1 << 30));
  }
}

// A4.6
TEST(FloatScale, AccumulatorsBecomeFloatsInOneRounding) {
  EXPECT_EQ(FloatScale().code((1 << 24) + 1, 0), 1 << 24);
  EXPECT_EQ(FloatScale().code((1 << 24) + 3, 0), (1 << 24) + 4);
  EXPECT_EQ(FloatScale{.factor = 0.5F}.code(-7, 0), -4);
}

/// A product adds the zero point before it rounds. A layer adds it afterwards.
// A4.9
TEST(FloatScale, ZeroPointsOfProductsAreInsideTheRounding) {
  EXPECT_EQ(float_product(Requantization::float32, 1.0F, 0.5F, 1.0F).code(1, 1), 2);
  EXPECT_EQ(float_product(Requantization::x86, 1.0F, 0.5F, 1.0F).code(1, 1), 1);
  EXPECT_EQ(float_layer(Requantization::float32, {1.0F, 0.5F, 1.0F}).code(1, 1), 1);
}

// A9.5
TEST(FloatSum, AddsBothInStepsOfTheResult) {
  const FloatSum sum = FloatSum::of(0.5F, 4, 0.25F, 2, 0.5F, 3);
  EXPECT_EQ(sum.a_ratio, 1.0F);
  EXPECT_EQ(sum.b_ratio, 0.5F);
  EXPECT_EQ(sum.offset, 3.0F - 5.0F);
  EXPECT_EQ(sum.steps(6, 3), 5.5F);
  EXPECT_EQ(sum.code(6, 3), 6);
  EXPECT_EQ(sum.code(4, 2), 3);  // 0 + 0
}

TEST(FloatScale, GoesFromSumToStepsInOneOrder) {
  const FloatScale step{0.1F, 0.3F, 0.7F, 1.9F, false};
  EXPECT_EQ(step.steps(17), ((17.0F * 0.1F) * 0.3F + 0.7F) * 1.9F);
  EXPECT_EQ(FloatScale().steps(-5), -5.0F);
}

TEST(FloatScale, AddsTheZeroPointInsideTheRoundingOrBehindIt) {
  FloatScale step{0.5F, 1.0F, 0.0F, 1.0F, false};
  EXPECT_EQ(step.code(1, 1), 1);
  step.zero_inside = true;
  EXPECT_EQ(step.code(1, 1), 2);
}

// A4.7
TEST(FloatScale, IsLegalWhereAllIsFiniteAndPositive) {
  EXPECT_TRUE(FloatScale().is_legal());
  EXPECT_TRUE((FloatScale{0.5F, 0.5F, -3.0F, 2.0F}).is_legal());
  EXPECT_FALSE((FloatScale{0.5F, 0.5F, 0.0F, 0.0F}).is_legal());
  EXPECT_FALSE((FloatScale{0.5F, -0.5F, 0.0F, 1.0F}).is_legal());
  EXPECT_FALSE((FloatScale{1.0F, 1.0F, kInfinity, 1.0F}).is_legal());
  EXPECT_FALSE((FloatScale{1.0F, 1.0F, 0.0F, kInfinity}).is_legal());
  EXPECT_FALSE((FloatScale{1e-30F, 1e-30F, 0.0F, 1.0F}).is_legal());  // the product is 0
}

TEST(EngineLayer, IsDepthwiseWithAsManyGroupsAsChannels) {
  EXPECT_TRUE(EngineLayer::convolution(8, 1, 8).depthwise);
  EXPECT_FALSE(EngineLayer::convolution(1, 1, 1).depthwise);
  EXPECT_FALSE(EngineLayer::convolution(8, 1, 16).depthwise);
  EXPECT_FALSE(EngineLayer::convolution(8, 2, 8).depthwise);
}

// A10.11
TEST(Engines, FbgemmAddsTheBiasInAccumulatorSteps) {
  const FloatScale step = fbgemm_layer({0.1F, 0.3F, 0.7F, 0.9F});
  EXPECT_EQ(step.bias, 0.9F / (0.1F * 0.3F));
  EXPECT_EQ(step.factor, (0.1F * 0.3F) / 0.7F);
  EXPECT_FALSE(step.zero_inside);
}

// A10.11
TEST(Engines, OneDnnAddsTheBiasInFloats) {
  const float x = 1.0F / (1.0F / 0.1F);
  const FloatScale whole = onednn_layer({0.1F, 0.3F, 0.7F, 0.9F, EngineLayer::convolution(1, 4, 4)});
  EXPECT_EQ(whole.scale, x * 0.3F);
  EXPECT_EQ(whole.channel_scale, 1.0F);
  EXPECT_EQ(whole.bias, 0.9F);
  EXPECT_EQ(whole.factor, 1.0F / 0.7F);
  EXPECT_TRUE(whole.zero_inside);
  const FloatScale depthwise = onednn_layer({0.1F, 0.3F, 0.7F, 0.9F, EngineLayer::convolution(4, 1, 4)});
  EXPECT_EQ(depthwise.scale, x);
  EXPECT_EQ(depthwise.channel_scale, 0.3F);
}

/// oneDNN runs convolutions of up to 100 groups. FBGEMM runs everything else, and every layer of its own form.
// A10.12
TEST(Engines, X86ChoosesByTheLayer) {
  const auto is_onednn = [](Requantization form, int64_t groups) {
    return float_layer(form, {0.1F, 0.3F, 0.7F, 0.9F, {groups, false}}).zero_inside;
  };
  EXPECT_TRUE(is_onednn(Requantization::x86, 1));
  EXPECT_TRUE(is_onednn(Requantization::x86, 100));
  EXPECT_FALSE(is_onednn(Requantization::x86, 101));
  EXPECT_FALSE(is_onednn(Requantization::x86, 0));
  EXPECT_FALSE(is_onednn(Requantization::fbgemm, 1));
}

// A10.13
TEST(Engines, OperatorsWithoutWeightsHaveTheirOwnSteps) {
  EXPECT_EQ(float_product(Requantization::x86, 0.1F, 0.3F, 0.7F).factor, 0.1F * 0.3F * (1.0F / 0.7F));
  EXPECT_EQ(float_pool(Requantization::x86, 0.1F, 0.7F, 9.0F).factor, 0.1F / 0.7F / 9.0F);
  EXPECT_EQ(float_rescale(Requantization::x86, 0.1F, 0.7F).steps(3), 3.0F * 0.1F * (1.0F / 0.7F));
}

// A10.13
TEST(EngineSum, AddsFloatsAndQuantizesByTheReciprocal) {
  const EngineSum sum = EngineSum::of(0.5F, 4, 0.25F, 2, 0.5F, 3);
  EXPECT_EQ(sum.inverse, 2.0F);
  EXPECT_EQ(sum.code(4, 2), 3);
  EXPECT_EQ(sum.code(6, 3), 3 + 2);  // 1.25 is 2.5 steps, a tie that rounds to even
  EXPECT_EQ(sum.code(6, 5), 3 + 4);  // 1.75 is 3.5 steps
}

/// Scales of 0.5 make sums multiples of a quarter. Ties round to even before FBGEMM adds the zero point, and after
/// oneDNN adds it.
// A4.7, A10.11, A10.12
TEST(Engines, LayersByHand) {
  const auto code = [](Requantization form, const EngineLayer& layer, int32_t acc, float bias) {
    return float_layer(form, {0.5F, 0.5F, 0.5F, bias, layer}).code(acc, 3);
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
  EXPECT_TRUE(fbgemm_layer({0.5F, 0.5F, 0.5F, 1.0F}).is_legal());
  EXPECT_FALSE(fbgemm_layer({0.5F, 0.5F, 0.0F, 1.0F}).is_legal());
  EXPECT_FALSE(fbgemm_layer({0.5F, 0.0F, 0.5F, 1.0F}).is_legal());
  EXPECT_FALSE(onednn_layer({0.5F, 0.5F, 0.5F, NAN, {1, false}}).is_legal());
}

}  // namespace
}  // namespace halfstep::arith

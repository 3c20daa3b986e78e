// Requantization as PyTorch's engines do it: which engine a layer has, and the order of its operations.
#include "halfstep/arith/engine_requantize.h"

#include <gtest/gtest.h>

#include <limits>

namespace halfstep::arith {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(EngineStep, GoesFromSumToStepsInOneOrder) {
  const EngineStep step{0.1F, 0.3F, 0.7F, 1.9F, false};
  EXPECT_EQ(step.steps(17), ((17.0F * 0.1F) * 0.3F + 0.7F) * 1.9F);
  EXPECT_EQ(EngineStep().steps(-5), -5.0F);
}

TEST(EngineStep, AddsTheZeroPointInsideTheRoundingOrBehindIt) {
  EngineStep step{0.5F, 1.0F, 0.0F, 1.0F, false};
  EXPECT_EQ(step.code(1, 1), 1);
  step.zero_inside = true;
  EXPECT_EQ(step.code(1, 1), 2);
}

TEST(EngineStep, IsLegalWhereAllIsFiniteAndPositive) {
  EXPECT_TRUE(EngineStep().is_legal());
  EXPECT_TRUE((EngineStep{0.5F, 0.5F, -3.0F, 2.0F}).is_legal());
  EXPECT_FALSE((EngineStep{0.5F, 0.5F, 0.0F, 0.0F}).is_legal());
  EXPECT_FALSE((EngineStep{0.5F, -0.5F, 0.0F, 1.0F}).is_legal());
  EXPECT_FALSE((EngineStep{1.0F, 1.0F, kInfinity, 1.0F}).is_legal());
  EXPECT_FALSE((EngineStep{1.0F, 1.0F, 0.0F, kInfinity}).is_legal());
  EXPECT_FALSE((EngineStep{1e-30F, 1e-30F, 0.0F, 1.0F}).is_legal());  // the product is 0
}

TEST(EngineLayer, IsDepthwiseWithAsManyGroupsAsChannels) {
  EXPECT_TRUE(EngineLayer::convolution(8, 1, 8).depthwise);
  EXPECT_FALSE(EngineLayer::convolution(1, 1, 1).depthwise);
  EXPECT_FALSE(EngineLayer::convolution(8, 1, 16).depthwise);
  EXPECT_FALSE(EngineLayer::convolution(8, 2, 8).depthwise);
}

TEST(Engines, FbgemmAddsTheBiasInAccumulatorSteps) {
  const EngineStep step = fbgemm_step(0.1F, 0.3F, 0.7F, 0.9F);
  EXPECT_EQ(step.bias, 0.9F / (0.1F * 0.3F));
  EXPECT_EQ(step.factor, (0.1F * 0.3F) / 0.7F);
  EXPECT_FALSE(step.zero_inside);
}

TEST(Engines, OneDnnAddsTheBiasInReals) {
  const float x = 1.0F / (1.0F / 0.1F);
  const EngineStep whole = onednn_step(EngineLayer::convolution(1, 4, 4), 0.1F, 0.3F, 0.7F, 0.9F);
  EXPECT_EQ(whole.scale, x * 0.3F);
  EXPECT_EQ(whole.channel_scale, 1.0F);
  EXPECT_EQ(whole.bias, 0.9F);
  EXPECT_EQ(whole.factor, 1.0F / 0.7F);
  EXPECT_TRUE(whole.zero_inside);
  const EngineStep depthwise = onednn_step(EngineLayer::convolution(4, 1, 4), 0.1F, 0.3F, 0.7F, 0.9F);
  EXPECT_EQ(depthwise.scale, x);
  EXPECT_EQ(depthwise.channel_scale, 0.3F);
}

/// oneDNN has convolutions of up to 100 groups, FBGEMM everything else and all layers of its own form.
TEST(Engines, X86ChoosesByTheLayer) {
  const auto is_onednn = [](Requantization form, int64_t groups) {
    return engine_layer_step(form, {groups, false}, 0.1F, 0.3F, 0.7F, 0.9F).zero_inside;
  };
  EXPECT_TRUE(is_onednn(Requantization::x86, 1));
  EXPECT_TRUE(is_onednn(Requantization::x86, 100));
  EXPECT_FALSE(is_onednn(Requantization::x86, 101));
  EXPECT_FALSE(is_onednn(Requantization::x86, 0));
  EXPECT_FALSE(is_onednn(Requantization::fbgemm, 1));
}

TEST(Engines, OperatorsWithoutWeightsHaveTheirOwnSteps) {
  EXPECT_EQ(engine_product_step(0.1F, 0.3F, 0.7F).factor, 0.1F * 0.3F * (1.0F / 0.7F));
  EXPECT_EQ(engine_pool_step(0.1F, 0.7F, 9.0F).factor, 0.1F / 0.7F / 9.0F);
  EXPECT_EQ(engine_rescale_step(0.1F, 0.7F).steps(3), 3.0F * 0.1F * (1.0F / 0.7F));
  EXPECT_EQ(engine_code_of_six(0.1F, 10), 70.0F);
}

TEST(EngineSum, AddsRealsAndQuantizesByTheReciprocal) {
  const EngineSum sum = EngineSum::of(0.5F, 4, 0.25F, 2, 0.5F, 3);
  EXPECT_EQ(sum.inverse, 2.0F);
  EXPECT_EQ(sum.code(4, 2), 3);
  EXPECT_EQ(sum.code(6, 3), 3 + 2);  // 1.25 is 2.5 steps, which go to even
  EXPECT_EQ(sum.code(6, 5), 3 + 4);  // and 1.75 is 3.5
}

}  // namespace
}  // namespace halfstep::arith

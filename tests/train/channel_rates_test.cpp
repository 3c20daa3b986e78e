// Gradient factors of channels whose weights are far smaller than the others'.
#include "halfstep/train/channel_rates.h"

#include <gtest/gtest.h>

#include <vector>

#include "halfstep/ir/parse.h"
#include "halfstep/quant/prepare.h"
#include "halfstep/train/network.h"

namespace halfstep::train {
namespace {

Model prepared(const quant::PrepareOptions& widths) {
  const Model model = initialize(parse("graph g(x: f32[?, 4]) {\n  param @u: f32[3, 4]\n  param @w: f32[3, 3]\n  param "
                                       "@v: f32[2, 3]\n  a = linear(x, w=@u)\n  b = linear(a, w=@w)\n  c = linear(b, "
                                       "w=@v)\n  return c\n}\n",
                                       "g.ir"),
                                 1);
  return quant::prepare(model, quant::load_platform("generic_int8"), widths);
}

std::vector<float> values(const Tensor& tensor) { return {tensor.data<float>().begin(), tensor.data<float>().end()}; }

TEST(ChannelRates, FallWithTheSquareOfTheScale) {
  Model model = prepared({.weight_bits = 4, .feature_bits = {}, .edge_bits = {}});
  model.tensors.at("w.scale") = Tensor::of<float>(DType::f32, {3}, std::vector{0.5F, 0.015625F, 2.0F});
  const auto rates = channel_rates(model);
  ASSERT_EQ(rates.size(), 2U);  // the first and last layer have 8 bits, whose scales are observed
  EXPECT_EQ(values(rates.at("w.scale")), (std::vector{1.0F, 0.0625F, 1.0F}));
  EXPECT_EQ(values(rates.at("w")), (std::vector{1.0F, 0.0625F, 1.0F}));
  EXPECT_EQ(rates.at("w").dims(), (Dims{3, 1}));
}

/// Earlier training may have left a scale at or below zero.
TEST(ChannelRates, AreNeverMoreThanOne) {
  Model model = prepared({.weight_bits = 4, .feature_bits = {}, .edge_bits = {}});
  model.tensors.at("w.scale") = Tensor::of<float>(DType::f32, {3}, std::vector{-4.0F, 0.125F, 2.0F});
  EXPECT_EQ(values(channel_rates(model).at("w.scale")), (std::vector{1.0F, 0.25F, 1.0F}));
  model.tensors.at("w.scale") = Tensor::of<float>(DType::f32, {3}, std::vector{0.0F, 0.0F, 2.0F});
  EXPECT_EQ(values(channel_rates(model).at("w.scale")), (std::vector{1.0F, 1.0F, 1.0F}));
}

TEST(ChannelRates, AreNoneWhereScalesAreObserved) { EXPECT_TRUE(channel_rates(prepared({})).empty()); }

}  // namespace
}  // namespace halfstep::train

// Units of channels whose weights are far smaller than the others', and of the layer that computes an output.
#include "halfstep/train/loop/units.h"

#include <gtest/gtest.h>

#include <vector>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/loop/builtin_networks.h"

namespace halfstep::train {
namespace {

Model prepared(const quant::PrepareOptions& bit_widths) {
  const Model model = initialize(parse("graph g(x: f32[?, 4]) {\n  param @u: f32[3, 4]\n  param @w: f32[3, 3]\n  param "
                                       "@v: f32[2, 3]\n  a = linear(x, w=@u)\n  b = linear(a, w=@w)\n  c = linear(b, "
                                       "w=@v)\n  return c\n}\n",
                                       "g.ir"),
                                 1);
  return quant::prepare(model, quant::load_platform("generic_int8"), bit_widths);
}

std::vector<float> values(const Tensor& tensor) { return {tensor.data<float>().begin(), tensor.data<float>().end()}; }

constexpr quant::PrepareOptions kLearned{.weight_bits = 4, .activation_bits = {}, .first_last_bits = {}};

// A2.8
TEST(Units, OfChannelsFallWithTheScale) {
  Model model = prepared(kLearned);
  model.tensors.at("w.scale") = Tensor::of<float>(DType::f32, {3}, std::vector{0.5F, 0.015625F, 2.0F});
  const auto units = units_of(model, {});
  ASSERT_EQ(units.size(), 2U);  // the first and last layer have 8 bits and observed scales
  EXPECT_EQ(values(units.at("w.scale")), (std::vector{1.0F, 0.25F, 1.0F}));
  EXPECT_EQ(values(units.at("w")), (std::vector{1.0F, 0.25F, 1.0F}));
  EXPECT_EQ(units.at("w").dims(), (Dims{3, 1}));
}

/// A file may have scales at or below zero.
TEST(Units, AreNeverMoreThanOneWithoutSpreads) {
  Model model = prepared(kLearned);
  model.tensors.at("w.scale") = Tensor::of<float>(DType::f32, {3}, std::vector{-4.0F, 0.125F, 2.0F});
  EXPECT_EQ(values(units_of(model, {}).at("w.scale")), (std::vector{1.0F, 0.5F, 1.0F}));
  model.tensors.at("w.scale") = Tensor::of<float>(DType::f32, {3}, std::vector{0.0F, 0.0F, 2.0F});
  EXPECT_EQ(values(units_of(model, {}).at("w.scale")), (std::vector{1.0F, 1.0F, 1.0F}));
}

TEST(Units, AreNoneWhereScalesAreObserved) { EXPECT_TRUE(units_of(prepared({}), {}).empty()); }

/// Only the layer that computes the output is measured in its standard deviation, whatever else the network has.
// A2.9
TEST(Units, OfTheLastLayerAreTheSpread) {
  const auto units = units_of(prepared({}), {{"c", 10.0F}});
  ASSERT_EQ(units.size(), 1U);
  EXPECT_EQ(values(units.at("v")), (std::vector{10.0F}));
  EXPECT_EQ(units.at("v").dims(), (Dims{1, 1}));
}

TEST(Units, MultiplyWhereBothHold) {
  Model model = prepared({.weight_bits = 4, .activation_bits = 4, .first_last_bits = 4});
  model.tensors.at("v.scale") = Tensor::of<float>(DType::f32, {2}, std::vector{0.0625F, 8.0F});
  const auto units = units_of(model, {{"c", 10.0F}});
  EXPECT_EQ(values(units.at("v")), (std::vector{0.625F, 10.0F}));
  EXPECT_EQ(values(units.at("v.scale")), (std::vector{0.625F, 10.0F}));
  EXPECT_EQ(values(units.at("c.scale")), (std::vector{10.0F}));
}

}  // namespace
}  // namespace halfstep::train

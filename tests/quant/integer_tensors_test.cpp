// The integers of one layer, from weights, bias and scales that a test sets.
#include "halfstep/quant/convert/integer_tensors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/quant/convert/errors.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::diagnostic_of;

Tensor floats(Dims dims, const std::vector<float>& values) {
  return Tensor::of<float>(DType::f32, std::move(dims), std::span<const float>(values));
}

/// Two channels of two weights. x and y count steps of 1/4 from 0.
WeightedLayer layer() {
  WeightedLayer layer;
  layer.where = "here";
  layer.w = floats({2, 2}, {1, -2, 0.25F, 0.75F});
  layer.b = floats({2}, {1, -0.5F});
  layer.w_scale = floats({2}, {0.5F, 0.25F});
  layer.weights = {-127, 127};
  layer.x = layer.y = {0.25F, 0, 0, 255};
  return layer;
}

std::vector<int> bytes(const Tensor& tensor) {
  const auto codes = tensor.data<int8_t>();
  return {codes.begin(), codes.end()};
}
std::vector<int> words(const Tensor& tensor) {
  const auto codes = tensor.data<int32_t>();
  return {codes.begin(), codes.end()};
}

TEST(IntegerTensors, CodesCountStepsOfTheChannel) {
  const IntegerTensors tensors = integer_tensors(layer());
  EXPECT_EQ(bytes(tensors.w), (std::vector<int>{2, -4, 1, 3}));
  EXPECT_EQ(words(tensors.b), (std::vector<int>{8, -8}));
  EXPECT_EQ(words(tensors.shift), (std::vector<int>{31, 32}));
  EXPECT_EQ(words(tensors.multiplier), (std::vector<int>{1 << 30, 1 << 30}));
  EXPECT_EQ(tensors.accumulator_bound, (2 + 4) * 255 + 8);
  EXPECT_FALSE(tensors.w_scale.defined());
  EXPECT_FALSE(tensors.negative_shift.defined());
}

TEST(IntegerTensors, OneScaleServesAllChannels) {
  WeightedLayer one = layer();
  one.w_scale = floats({1}, {0.25F});
  const IntegerTensors tensors = integer_tensors(one);
  EXPECT_EQ(bytes(tensors.w), (std::vector<int>{4, -8, 1, 3}));
  EXPECT_EQ(words(tensors.b), (std::vector<int>{16, -8}));
  EXPECT_EQ(tensors.shift.dims(), Dims{1});
}

TEST(IntegerTensors, WithoutABiasItIsZero) {
  WeightedLayer bare = layer();
  bare.b = {};
  EXPECT_EQ(words(integer_tensors(bare).b), (std::vector<int>{0, 0}));
  bare.rule.form = arith::Requantization::fbgemm;
  const Tensor real = integer_tensors(bare).b;
  EXPECT_EQ(real.dtype(), DType::f32);
  EXPECT_EQ(real.data<float>()[1], 0.0F);
}

/// The scale of a channel rises until its bias fits. A single scale rises until all biases fit.
TEST(IntegerTensors, DeadChannelsGetScalesThatTheirBiasFits) {
  WeightedLayer dead = layer();
  dead.w_scale = floats({2}, {0.5F, 0x1p-40F});
  const IntegerTensors tensors = integer_tensors(dead);
  EXPECT_EQ(words(tensors.b)[0], 8);
  EXPECT_EQ(words(tensors.b)[1], -(1 << 30));
}

TEST(IntegerTensors, FormsStoreWhatTheyRead) {
  WeightedLayer kept = layer();
  kept.rule.form = arith::Requantization::float32;
  const IntegerTensors floating = integer_tensors(kept);
  EXPECT_EQ(floating.w_scale.data<float>()[1], 0.25F);
  EXPECT_FALSE(floating.shift.defined());
  EXPECT_EQ(floating.b.dtype(), DType::i32);
  kept.rule.form = arith::Requantization::x86;
  EXPECT_EQ(integer_tensors(kept).b.data<float>()[1], -0.5F);
  kept.rule.form = arith::Requantization::power_of_two;
  const IntegerTensors shifts = integer_tensors(kept);
  EXPECT_EQ(words(shifts.shift), (std::vector<int>{1, 2}));
  EXPECT_FALSE(shifts.multiplier.defined());
  kept.rule.activation = arith::Activation::leaky_relu;
  kept.rule.alpha = 0.25;
  EXPECT_EQ(words(integer_tensors(kept).negative_shift), (std::vector<int>{3, 4}));
  EXPECT_FALSE(integer_tensors(kept).negative_multiplier.defined());
}

TEST(IntegerTensors, WhatHasNoShiftNamesTheChannel) {
  WeightedLayer wide = layer();
  wide.b = {};
  wide.w_scale = floats({2}, {0.5F, 0x1p60F});
  const auto refused = [&] {
    const Diagnostic found = diagnostic_of([&] { integer_tensors(wide); });
    EXPECT_EQ(found, errors::layer_not_requantizable("here: channel 1", found.problem, "NAME", ""));
  };
  refused();
  wide.w_scale = floats({2}, {0.5F, 0.3F});
  wide.rule.form = arith::Requantization::power_of_two;
  refused();
}

TEST(IntegerTensors, AccumulatorsBeyondInt32NameTheChannel) {
  WeightedLayer long_sum = layer();
  long_sum.b = {};
  long_sum.w = Tensor(DType::f32, {2, 1 << 17});
  std::ranges::fill(long_sum.w.data<float>(), 63.5F);
  long_sum.x = {0.25F, 0, 0, 127};
  EXPECT_EQ(integer_tensors(long_sum).accumulator_bound, int64_t{127} * 127 * (1 << 17));
  long_sum.x.code_max = 255;
  EXPECT_EQ(diagnostic_of([&] { integer_tensors(long_sum); }),
            errors::channel_accumulator_overflow("here: channel 0", 4244766720));
}

TEST(IntegerTensors, TheRuleOfAQuantizerIsItsAttributes) {
  const Model model = test::prepared(test::images("  c = conv2d(x, w=@w)\n  return c\n"), "generic_int8", {},
                                     {{"rounding.method", "reciprocal"}, {"rounding.mode", "half_up"}});
  const arith::CodeRule rule = code_rule(test::quantizer(model, "w.q"));
  EXPECT_EQ(rule.code_min, -127);
  EXPECT_EQ(rule.code_max, 127);
  EXPECT_TRUE(rule.reciprocal);
  EXPECT_EQ(rule.rounding, arith::Rounding::half_up);
}

}  // namespace
}  // namespace halfstep::quant

// A chip that is known only by its data sheet, written as a record. The audit has every fact, functions that the chip
// lacks are refused, and networks become integers that equal the training network.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/halfstep.h"
#include "tests/support/error.h"
#include "tests/support/files.h"
#include "tests/support/mentions.h"

namespace halfstep::api {
namespace {

/// Signed symmetric activations, power-of-two scales, one scale per weight tensor, and shifts that round half up. No
/// 4-bit depthwise layer, no sigmoid, channels in multiples of 16 behind the image, sums of operands with one scale.
constexpr const char* kRecord = R"(platform: sheet
doc: From a data sheet.
weights: {bits: 8, legal_bits: [4, 8], granularity: tensor, zero_points: symmetric, observer: minmax}
activations: {bits: 8, legal_bits: [8], codes: signed, zero_points: symmetric, observer: minmax, rate: 0.05}
low_bits: {below: 8, observer: mse, learned: true}
power_of_two: true
requantize: {form: power_of_two, multiplier_bits: 31, rounding: half_up}
rounding: {method: divide, mode: half_even}
share_scales: [concat, add]
fused_activations: {weighted: [relu, relu6], accumulates: [relu, relu6]}
channels: {multiple: 16, above: 3}
legal:
  - {op: conv2d, where: depthwise, weights: [8], reason: the depthwise unit has 8-bit weights}
  - {op: sigmoid, refused: true, reason: the chip has no tables}
)";

Platform chip() { return quant::parse_platform(kRecord, "sheet.yaml"); }

/// Samples for the network's input, from a fixed seed.
Dataset noise(const Model& network, int64_t samples) {
  const Value input = network.graph.arguments().front();
  Dims dims = input.dims();
  dims[0] = samples;
  Tensor tensor = Tensor::uninitialized(DType::f32, dims);
  std::mt19937 random(7);
  for (float& element : tensor.data<float>()) element = static_cast<float>(random() % 2001) / 500.0F - 2.0F;
  return make_data({{input.name(), tensor}}, network.graph.name(), {});
}

bool is_power_of_two(float scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5F;
}

/// Checks the facts of the data sheet for every tensor.
void expect_facts(const quant::Audit& audit) {
  EXPECT_TRUE(audit.in_float.empty());
  int sums = 0;
  for (const auto& one : audit.quantizers) {
    EXPECT_TRUE(one.symmetric && one.power_of_two) << one.tensor;
    EXPECT_EQ(one.axis, -1) << one.tensor;
    EXPECT_EQ(one.code_type, one.bits == 4 ? "i4" : "i8") << one.tensor;
    EXPECT_EQ(one.code_min, -one.code_max) << one.tensor;
    EXPECT_EQ(one.zero_point, std::vector<int32_t>{0}) << one.tensor;
    ASSERT_EQ(one.scale.size(), 1U) << one.tensor;
    EXPECT_TRUE(is_power_of_two(one.scale[0])) << one.tensor << " " << one.scale[0];
    for (const auto& by : one.requantization) EXPECT_TRUE(by.powers_of_two) << one.tensor << " " << by.what;
    if (one.op != "add") continue;
    ++sums;
    ASSERT_EQ(one.requantization.size(), 2U) << one.tensor;
    EXPECT_EQ(one.requantization[0].least, one.requantization[1].least) << one.tensor << " has operands of two scales";
  }
  EXPECT_GT(sums, 0);
}

/// Some layers have the given bits. All others follow the record.
void expect_integers(const Model& network, const std::vector<LayerBits>& bits) {
  const Dataset data = noise(network, 8);
  const QuantizeResult prepared = quantize(network, chip(), data, {.bits = bits}, {});
  expect_facts(prepared.audit);
  const auto integer = convert(prepared.model, {});
  EXPECT_TRUE(integer.fallbacks.empty());
  const auto proof = verify(prepared.model, integer.model, data, {}, {});
  EXPECT_TRUE(proof.equal()) << report::verdict(proof);
}

Model inverted_residual(const std::string& gate) {
  Model model;
  model.graph = parse(R"(graph block(x: f32[?, 3, 16, 16]) {
  param @a: f32[16, 3, 3, 3]
  param @e: f32[32, 16, 1, 1]
  param @d: f32[32, 1, 3, 3]
  param @p: f32[16, 32, 1, 1]
  param @h: f32[10, 16]
  stem = conv2d(x, w=@a) {pad: [1, 1, 1, 1], stride: [2, 2]}
  first = relu(stem)
  wide = conv2d(first, w=@e)
  gate = )" + gate + R"((wide)
  deep = conv2d(gate, w=@d) {pad: [1, 1, 1, 1], groups: 32}
  back = conv2d(deep, w=@p)
  sum = add(back, b=first)
  mean = global_avg_pool(sum)
  flat = flatten(mean)
  head = linear(flat, w=@h)
  return head
}
)");
  std::mt19937 random(11);
  for (const Value value : model.graph.tensors()) {
    Tensor tensor = Tensor::uninitialized(DType::f32, value.dims());
    for (float& element : tensor.data<float>()) element = static_cast<float>(random() % 2001) / 4000.0F - 0.25F;
    model.tensors.emplace(value.name(), std::move(tensor));
  }
  return model;
}

TEST(OwnChip, NetworksBecomeIntegers) {
  expect_integers(inverted_residual("relu6"), {});
  expect_integers(inverted_residual("relu6"), {{"wide", 4, {}}, {"back", 4, {}}});
}

TEST(OwnChip, ResNet18BecomesIntegers) {
  const std::string file = "models/resnet18_w16_ts9/model.onnx";
  HS_NEEDS_TEST_DATA(file);
  const Model network = load(test::test_data(file));
  expect_integers(network, {});
}

/// All refusals at once, each with its reason.
TEST(OwnChip, WhatTheChipLacksIsRefused) {
  const Model network = inverted_residual("sigmoid");
  QuantizeOptions four;
  four.prepare.weight_bits = 4;
  const auto refusals = test::diagnostics_of([&] { quantize(network, chip(), noise(network, 8), four, {}); });
  for (const char* value : {"4 bits", "the depthwise unit has 8-bit weights", "sigmoid", "the chip has no tables"})
    EXPECT_TRUE(test::mentions(refusals, value)) << value;
  Model narrow = inverted_residual("relu6");
  const Platform wider = quant::parse_platform(kRecord, "sheet.yaml", {{"channels.multiple", "64"}});
  const auto narrow_ones = test::diagnostics_of([&] { quantize(narrow, wider, noise(narrow, 8), {}, {}); });
  for (const char* value : {"64", "16 in and 32 out"}) EXPECT_TRUE(test::mentions(narrow_ones, value)) << value;
}

}  // namespace
}  // namespace halfstep::api

// Quantizers of another framework become ours and keep their learned values.
#include "halfstep/quant/prepare/foreign_quantizers.h"

#include <gtest/gtest.h>

#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/errors.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::test {
namespace {

/// Operations on images, with the scales sx and sy and the zero point z of another framework.
Model foreign(const std::string& operations) {
  Model model = network(
      "graph net(x: f32[?, 3, 8, 8]) {\n"
      "  param @w: f32[4, 3, 3, 3]\n"
      "  const @sx: f32[1]\n"
      "  const @sy: f32[1]\n"
      "  const @z: f32[1]\n" +
      operations + "}\n");
  model.tensors["sx"] = Tensor::scalar(2.54F);
  model.tensors["sy"] = Tensor::scalar(5.1F);
  model.tensors["z"] = Tensor::scalar(0.0F);
  return model;
}

const char* const kQat =
    "  xq = fake_quantize_dequantize_moving_average_abs_max(x, in_scale=@sx) {is_test: true}\n"
    "  c = conv2d(x=xq, w=@w)\n"
    "  r = relu(c)\n"
    "  q = quantize_linear(x=r, scale=@sy, zero_point=@z)\n"
    "  d = dequantize_linear(x=q, scale=@sy, zero_point=@z)\n"
    "  y = max_pool2d(x=d) {kernel: [2, 2], stride: [2, 2]}\n"
    "  return y\n";

TEST(ForeignQuantizers, GoAndLeaveWhatTheyLearned) {
  Model model = foreign(kQat);
  const auto given = quant::take_out_quantizers(model);
  ASSERT_EQ(given.size(), 2U);
  EXPECT_EQ(given.at("x").magnitude, 2.54F);
  EXPECT_EQ(given.at("r").magnitude, 5.1F);
  EXPECT_EQ(model.graph.ops().size(), 3U);
}

TEST(ForeignQuantizers, RangesStayAsTheyWereLearned) {
  const Model prepared = quant::prepare(foreign(kQat), quant::load_platform("generic_int8"));
  const auto quantizer = [&](const std::string& name) { return ops::FakeQuantize(prepared.graph.op(name).node()); };
  const auto range = [&](const std::string& name) {
    const ops::ObserveRange observer = quant::observer_of(quantizer(name));
    EXPECT_EQ(observer.rate(), 0.0) << name;
    return std::pair(prepared.tensors.at(observer.low().name()).data<float>()[0],
                     prepared.tensors.at(observer.high().name()).data<float>()[0]);
  };
  EXPECT_EQ(range("x.q"), std::pair(-2.54F, 2.54F));
  EXPECT_EQ(range("r.q"), std::pair(0.0F, 5.1F));
  EXPECT_EQ(quant::effective_scale(prepared, quantizer("r.q")), static_cast<float>(5.1F / 255.0));
}

/// Codes of PyTorch's quantizers: a weight with -8..7 by channel, and a result with 0..15.
const char* const kCodes =
    "  const @sw: f32[4]\n  const @zw: i32[4]\n  const @zx: i32[1]\n"
    "  wq = fake_quantize_per_channel_affine(x=@w, scale=@sw, zero_point=@zw) {quant_min: -8, quant_max: 7}\n"
    "  c = conv2d(x=x, w=wq)\n"
    "  r = relu(c)\n"
    "  y = fake_quantize_per_tensor_affine_tensor_qparams(x=r, scale=@sx, zero_point=@zx) {quant_min: 0, quant_max: "
    "15}\n"
    "  return y\n";

Model with_codes() {
  Model model = foreign(kCodes);
  constexpr float kScales[] = {0.0625F, 0.125F, 0.03F, 0.11F};
  model.tensors["sw"] = Tensor::of<float>(DType::f32, {4}, kScales);
  model.tensors["sx"] = Tensor::scalar(0.25F);
  model.tensors["zx"] = Tensor::scalar(int32_t{3});
  return model;
}

TEST(ForeignQuantizers, CodesStayAsTheyWereLearned) {
  const Model prepared = quant::prepare(with_codes(), quant::load_platform("generic_int8"));
  const auto quantizer = [&](const std::string& name) { return ops::FakeQuantize(prepared.graph.op(name).node()); };
  const ops::FakeQuantize weight = quantizer("w.q"), result = quantizer("r.q");
  EXPECT_EQ(std::pair(weight.code_min(), weight.code_max()), std::pair(int64_t{-8}, int64_t{7}));
  EXPECT_EQ(std::pair(result.code_min(), result.code_max()), std::pair(int64_t{0}, int64_t{15}));
  EXPECT_EQ(quant::effective_scale(prepared, weight, 1), 0.125F);
  EXPECT_FLOAT_EQ(quant::effective_scale(prepared, weight, 3), 0.11F);
  EXPECT_EQ(quant::effective_scale(prepared, result), 0.25F);
  EXPECT_EQ(prepared.tensors.at(result.zero_point().name()).data<int32_t>()[0], 3);
  EXPECT_EQ(prepared.metadata.quantizer_reasons.at("w"), "codes -8..7 of the source");
  EXPECT_EQ(prepared.metadata.quantizer_reasons.at("r"), "codes 0..15 of the source");
}

TEST(ForeignQuantizers, BitsOfOptionsAndPlatformsComeFirst) {
  const Model asked = quant::prepare(with_codes(), quant::load_platform("generic_int8"), {.weight_bits = 8});
  EXPECT_EQ(asked.metadata.quantizer_reasons.at("w"), "range of the codes -8..7 of the source, in 8 bits");
  const Model powers = quant::prepare(with_codes(), quant::load_platform("pow2_int8"));
  for (const char* name : {"w", "r"})
    EXPECT_TRUE(powers.metadata.quantizer_reasons.at(name).starts_with("range of the codes"))
        << powers.metadata.quantizer_reasons.at(name);
}

/// The codes of `quantized` in the layer y, whose weight is rewritten: scales by channel, and the range of codes.
struct WeightCodes {
  std::vector<float> scale;
  int64_t code_min, code_max;
  bool operator==(const WeightCodes&) const = default;
};

WeightCodes codes_in_layer(const std::string& quantized, const std::string& layer,
                           const std::map<std::string, std::vector<float>>& numbers) {
  Model model = network(
      "graph net(x: f32[?, 3, 8, 8], rows: f32[?, 2]) {\n"
      "  param @w: f32[2, 3, 1, 1]\n  param @m: f32[2, 3]\n  const @s: f32[1]\n"
      "  const @zero: i32[1]\n  const @zeros: i32[2]\n  const @scales: f32[2]\n"
      "  param @g: f32[2]\n  param @h: f32[2]\n  state @mean: f32[2]\n  state @variance: f32[2]\n" +
      quantized + layer + "  return y\n}\n");
  for (const auto& [name, values] : numbers) std::ranges::copy(values, model.tensors.at(name).data<float>().begin());
  model.tensors.at("zero") = Tensor(DType::i32, {1});
  model.tensors.at("zeros") = Tensor(DType::i32, {2});
  const Model prepared = quant::prepare(model, quant::load_platform("generic_int8"));
  for (const auto& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    if (!quant::is_weight(quantizer)) continue;
    WeightCodes codes{{}, quantizer.code_min(), quantizer.code_max()};
    const auto channels = static_cast<size_t>(passes::scale_tensor(quantizer).dims()[0]);
    for (size_t c = 0; c < channels; ++c) codes.scale.push_back(quant::effective_scale(prepared, quantizer, c));
    return codes;
  }
  return {};
}

/// A weight of these layers has other contents, or its axes in another order, than in the source. The factor of the
/// batch norm is g, because the variance is 1.
TEST(ForeignQuantizers, RewrittenWeightsKeepTheirCodes) {
  const std::string per_tensor =
      "  q = fake_quantize_per_tensor_affine_tensor_qparams(x=@WEIGHT, scale=@s, zero_point=@zero) {quant_min: -8, "
      "quant_max: 7}\n";
  const std::string per_column =
      "  q = fake_quantize_per_channel_affine(x=@m, scale=@scales, zero_point=@zeros) {axis: 0, quant_min: -128, "
      "quant_max: 127}\n";
  const std::string paddle = "  q = fake_quantize_dequantize_abs_max(x=@w)\n";
  const std::string norm =
      "  c = conv2d(x=x, w=q)\n"
      "  y = batch_norm(x=c, scale=@g, bias=@h, mean=@mean, variance=@variance) {epsilon: 0.0}\n";
  const std::map<std::string, std::vector<float>> numbers = {{"w", {0.5F, -2, 1, 0.25F, 0.25F, 0.5F}},
                                                             {"m", {1, 2, 3, 4, 5, 6}},
                                                             {"s", {0.25F}},
                                                             {"scales", {0.5F, 0.125F}},
                                                             {"g", {2, -4}},
                                                             {"h", {0, 0}},
                                                             {"mean", {0, 0}},
                                                             {"variance", {1, 1}}};
  const auto of = [&](const std::string& quantizer, const std::string& layer) {
    return codes_in_layer(quantizer, layer, numbers);
  };
  const auto on = [&](std::string weight) {
    return std::string(per_tensor).replace(per_tensor.find("WEIGHT"), 6, weight);
  };
  EXPECT_EQ(of(on("w"), norm), (WeightCodes{{0.5F, 1}, -7, 7})) << "one channel is negated";
  EXPECT_EQ(of(paddle, norm), (WeightCodes{{2 * 2 / 127.0F, 4 * 2 / 127.0F}, -127, 127}));
  const std::string product = "  y = matmul(a=rows, b=q)\n";
  EXPECT_EQ(of(on("m"), product), (WeightCodes{{0.25F, 0.25F, 0.25F}, -8, 7}));
  const std::vector<float> own = of(per_column, product).scale;
  EXPECT_EQ(own.size(), 3U) << "scales along the summed axis are none of a channel";
  EXPECT_NE(own[0], 0.5F);
}

/// A layer that absorbed its tail has the tail's results.
TEST(ForeignQuantizers, RangesBehindATailAreTheLayers) {
  const std::string tensors =
      "  param @b: f32[1, 4, 1, 1]\n"
      "  param @g: f32[4]\n  param @h: f32[4]\n  state @m: f32[4]\n  state @variance: f32[4]\n"
      "  c = conv2d(x=x, w=@w)\n";
  const auto is_learned = [](const Model& model) {
    const Model prepared = quant::prepare(model, quant::load_platform("generic_int8"));
    EXPECT_EQ(prepared.graph.all<ops::BatchNorm>().size() + prepared.graph.all<ops::Add>().size(), 0U);
    return quant::observer_of(ops::FakeQuantize(prepared.graph.op("c.q").node())).rate() == 0.0;
  };
  EXPECT_FALSE(is_learned(
      foreign(tensors + "  o = fake_quantize_dequantize_moving_average_abs_max(c, in_scale=@sy) {is_test: true}\n"
                        "  a = add(a=o, b=@b)\n"
                        "  y = batch_norm(x=a, scale=@g, bias=@h, mean=@m, variance=@variance)\n"
                        "  return y\n")))
      << "what stood before the tail is no value of the network any more";
  EXPECT_TRUE(is_learned(
      foreign(tensors + "  a = add(a=c, b=@b)\n"
                        "  n = batch_norm(x=a, scale=@g, bias=@h, mean=@m, variance=@variance)\n"
                        "  y = fake_quantize_dequantize_moving_average_abs_max(n, in_scale=@sy) {is_test: true}\n"
                        "  return y\n")));
}

/// Such a quantizer has its scale as a second result, which the backward pass reads.
TEST(ForeignQuantizers, ThoseThatComputeTheirScalesGoToo) {
  const std::string quantized =
      "  q = fake_quantize_abs_max(x=x)\n"
      "  d = fake_dequantize_max_abs(x=q, scale=q.out_scale) {max_range: 127.0}\n"
      "  y = conv2d(x=d, w=@w)\n";
  Model model = foreign(quantized + "  return y\n");
  EXPECT_TRUE(quant::take_out_quantizers(model).empty());
  ASSERT_EQ(model.graph.ops().size(), 1U);
  EXPECT_EQ(model.graph.op("y").in(0), model.graph.value("x"));
  Model reads_scale = foreign(quantized + "  z = relu(x=q.out_scale)\n  return y, z\n");
  EXPECT_EQ(diagnostic_of([&] { quant::take_out_quantizers(reads_scale); }),
            errors::quantizer_scale_in_use("g.ir:6: node 'q'", "out_scale", "relu", "z"));
}

/// Its normalizations are marked to use the statistics of the batch.
TEST(ForeignQuantizers, AFileMayHoldTheProgramThatTrained) {
  const Model prepared =
      quant::prepare(foreign("  param @g: f32[4]\n  param @h: f32[4]\n  state @m: f32[4]\n  state @variance: f32[4]\n"
                             "  c = conv2d(x=x, w=@w)\n"
                             "  y = batch_norm(x=c, scale=@g, bias=@h, mean=@m, variance=@variance) {is_test: false}\n"
                             "  return y\n"),
                     quant::load_platform("generic_int8"));
  EXPECT_TRUE(prepared.graph.all<ops::BatchNorm>().empty());
}

TEST(ForeignQuantizers, ConvertedNetworksAreRefused) {
  Model codes = foreign(
      "  q = quantize_linear(x=x, scale=@sx, zero_point=@z)\n"
      "  y = conv2d(x=q, w=@w)\n"
      "  return y\n");
  EXPECT_EQ(diagnostic_of([&] { quant::take_out_quantizers(codes); }),
            errors::network_converted_already("g.ir:6: node 'q'", "conv2d", "y"));
  Model floats = foreign(
      "  c = conv2d(x=x, w=@w)\n"
      "  y = dequantize_linear(x=c, scale=@sx, zero_point=@z)\n"
      "  return y\n");
  EXPECT_EQ(diagnostic_of([&] { quant::take_out_quantizers(floats); }),
            errors::codes_without_quantizer("g.ir:7: node 'y'"));
}

TEST(ForeignQuantizers, WhatReadsCodesMayReadTheirScale) {
  Model model = foreign(
      "  q = fake_quantize_abs_max(x)\n"
      "  d = fake_dequantize_max_abs(x=q, scale=q.out_scale) {max_range: 127.0}\n"
      "  p = fake_quantize_abs_max(d)\n"
      "  e = fake_dequantize_max_abs(x=p, scale=p.out_scale) {max_range: 127.0}\n"
      "  y = conv2d(x=e, w=@w)\n"
      "  return y\n");
  quant::take_out_quantizers(model);
  ASSERT_EQ(model.graph.ops().size(), 1U);
  EXPECT_EQ(model.graph.ops()[0].in(0).name(), "x");
}

TEST(ForeignQuantizers, ATypeThatChangesOnTheWayIsRefused) {
  Model model{parse("graph net(x: f32[?, 3, 8, 8]) {\n"
                    "  const @sx: f32[1]\n"
                    "  const @z: f32[1]\n"
                    "  const @half: f16[1]\n"
                    "  q = quantize_linear(x=x, scale=@sx, zero_point=@z)\n"
                    "  d = dequantize_linear(x=q, scale=@half)\n"
                    "  y = relu(d)\n"
                    "  return y\n"
                    "}\n"),
              {{"sx", Tensor::scalar(2.54F)}, {"z", Tensor::scalar(0.0F)}, {"half", Tensor(DType::f16, {1})}},
              {},
              {}};
  EXPECT_EQ(
      diagnostic_of([&] { quant::take_out_quantizers(model); }),
      errors::quantizer_changes_type("text:6: node 'd'", "dequantize_linear", "f32[?, 3, 8, 8]", "f16[?, 3, 8, 8]"));
}

}  // namespace
}  // namespace halfstep::test

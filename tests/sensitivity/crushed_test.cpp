// Parts of values that lie within few quantization steps, and possible remedies.
#include "halfstep/tune/sensitivity/crushed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/calibrate/errors.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/tune/sensitivity/remedy.h"
#include "tests/support/error.h"

namespace halfstep::sensitivity {
namespace {

constexpr int64_t kSamples = 64;

/// docs/guides/read_audit_and_proof.md states this.
TEST(Crushed, FewStepsOfSoManyCodes) {
  EXPECT_EQ(few_steps(256), 8);
  EXPECT_EQ(few_steps(128), 4);
  EXPECT_EQ(few_steps(16), 2);
  EXPECT_EQ(few_steps(65536), 8);
}

/// A prepared network of the text, with the samples that it was calibrated on.
struct Calibrated {
  data::Dataset data;
  data::Samples samples{&data, {}, "x", {}};
  ThreadPool pool{1};
  Model model;

  Calibrated(const std::string& text, const std::function<void(Model&)>& change,
             const char* platform = "generic_int8") {
    data.name = "random";
    data.x = Tensor(DType::f32, {kSamples, 8});
    data.raw = false;
    Random random(5, 0);
    for (float& value : data.x.data<float>()) value = random.normal();
    samples.indices.resize(kSamples);
    std::iota(samples.indices.begin(), samples.indices.end(), 0);
    Model network = train::initialize(parse(text, "g.ir"), 3);
    change(network);
    model = quant::prepare(network, quant::load_platform(platform));
    train::calibrate(model, samples, {}, pool);
  }

  std::vector<CrushedPart> crushed() { return crushed_values(model, samples, 0, pool).parts; }
};

void scale(Model& model, const std::string& tensor, float factor, size_t first = 0, size_t end = SIZE_MAX) {
  const auto values = model.tensors.at(tensor).data<float>();
  for (size_t i = first; i < std::min(end, values.size()); ++i) values[i] *= factor;
}

constexpr const char* kTwoHeads =
    "graph g(x: f32[?, 8]) {\n  param @u: f32[6, 8]\n  param @v: f32[4, 8]\n  a = linear(x, w=@u)\n"
    "  scores = sigmoid(a)\n  boxes = linear(x, w=@v)\n  y = concat(x=[boxes, scores]) {axis: 1}\n  return y\n}\n";

constexpr const char* kOneHead =
    "graph g(x: f32[?, 8]) {\n  param @u: f32[16, 8]\n  param @v: f32[10, 16]\n  a = linear(x, w=@u)\n  r = relu(a)\n"
    "  y = linear(r, w=@v)\n  return y\n}\n";

TEST(Crushed, AnOperandOfAConcatUnderASharedScale) {
  Calibrated heads(kTwoHeads, [](Model& model) { scale(model, "v", 1000); });
  const auto crushed = heads.crushed();
  ASSERT_EQ(crushed.size(), 1U);
  const CrushedPart& part = crushed[0];
  EXPECT_EQ(part.quantizer.tensor, "scores");
  EXPECT_EQ(part.axis, -1);
  EXPECT_GT(part.low, 0);
  EXPECT_LT(part.high, 1);
  EXPECT_DOUBLE_EQ(part.step, static_cast<double>(part.quantizer.scale[0]));
  EXPECT_DOUBLE_EQ(part.steps, (part.high - part.low) / part.step);
  EXPECT_LT(part.steps, 1);
  EXPECT_EQ(part.output.axis, 1);
  EXPECT_GE(part.output.index, 4) << "boxes come first";
  EXPECT_LT(part.output.sums.sqnr_db(), 1);
  const std::string sentence = sentence_of(part);
  for (const char* words : {"'scores': values from ", " steps of ", "is shared with 'boxes'", "output 'y' at index "})
    EXPECT_NE(sentence.find(words), std::string::npos) << words << " in " << sentence;
  EXPECT_EQ(remedies_for(heads.model, part).front(), (Remedy{"--skip-layers", {"y"}}));
}

TEST(Crushed, InfinitiesAreNamedAndLeaveRangesToOtherNumbers) {
  Calibrated logarithm(
      "graph g(x: f32[?, 8]) {\n  param @u: f32[6, 8]\n  a = linear(x, w=@u)\n  r = relu(a)\n  l = log(r)\n"
      "  t = tanh(l)\n  param @v: f32[4, 6]\n  y = linear(t, w=@v)\n  return y\n}\n",
      [](Model&) {});
  const Model& model = logarithm.model;
  const auto infinite = crushed_values(model, logarithm.samples, 0, logarithm.pool).infinite;
  ASSERT_EQ(infinite.size(), 1U);
  const ops::FakeQuantize quantizer(model.graph.op(infinite[0]).node());
  EXPECT_EQ(quantizer.x().name(), "l");
  EXPECT_LT(quant::effective_scale(model, quantizer, 0), 1);
}

/// docs/guides/read_audit_and_proof.md states this.
TEST(Crushed, AMaskOfInfinitiesIsNotNamed) {
  const Calibrated masked(
      "graph g(x: f32[?, 8]) {\n  param @u: f32[8, 8]\n  a = linear(x, w=@u)\n  r = relu(x)\n  m = log(r)\n"
      "  s = add(a, b=m)\n  y = softmax(s) {axis: 1}\n  return y\n}\n",
      [](Model&) {});
  EXPECT_TRUE(masked.model.graph.op("m.q")) << "it has codes";
  ThreadPool pool(1);
  EXPECT_EQ(crushed_values(masked.model, masked.samples, 0, pool).infinite, std::vector<std::string>());
}

TEST(Crushed, InfinitiesAloneStopCalibration) {
  const char* text =
      "graph g(x: f32[?, 8]) {\n  param @u: f32[6, 8]\n  a = linear(x, w=@u)\n  r = relu(a)\n  l = log(r)\n"
      "  return l\n}\n";
  EXPECT_EQ(test::diagnostic_of([&] { Calibrated(text, [](Model& model) { scale(model, "u", 0); }); }),
            errors::calibration_saw_no_number("g", "'l'"));
}

/// docs/guides/read_audit_and_proof.md states this, and that large networks use 8 samples.
TEST(Crushed, LooksAt32Samples) {
  const Calibrated heads(kTwoHeads, [](Model&) {});
  ThreadPool pool(1);
  const FloatAnswers answers = crushed_values(heads.model, heads.samples, 0, pool).answers;
  int64_t samples = 0;
  for (const Tensors& batch : answers.batches) samples += batch.at("x").dims()[0];
  EXPECT_EQ(samples, 32);
  EXPECT_EQ(answers.wanted.size(), answers.batches.size());
  EXPECT_FALSE(answers.is_large);
}

TEST(Crushed, AConstantBesideLargeNumbers) {
  Calibrated constant(kTwoHeads, [](Model& model) {
    scale(model, "u", 0);
    scale(model, "v", 1000);
  });
  const auto crushed = constant.crushed();
  ASSERT_EQ(crushed.size(), 1U);
  EXPECT_EQ(crushed[0].quantizer.tensor, "scores");
  EXPECT_EQ(crushed[0].low, 0.5);
  EXPECT_DOUBLE_EQ(crushed[0].steps, 0.5 / crushed[0].step);
}

/// Rows of the exponential become channels of the output.
TEST(Crushed, BehindATranspose) {
  Calibrated moved(
      "graph g(x: f32[?, 8]) {\n  param @u: f32[8, 8]\n  param @rows: f32[1, 1, 4, 1]\n  a = linear(x, w=@u)\n"
      "  r = reshape(a) {dims: [-1, 1, 4, 2]}\n  s = add(r, b=@rows)\n  e = exp(s)\n"
      "  t = transpose(e) {perm: [0, 2, 1, 3]}\n  return t\n}\n",
      [](Model& model) {
        scale(model, "rows", 0);
        model.tensors.at("rows").data<float>()[3] = 12;
      });
  const auto crushed = moved.crushed();
  ASSERT_EQ(crushed.size(), 1U);
  EXPECT_EQ(crushed[0].quantizer.tensor, "e");
  EXPECT_EQ(crushed[0].axis, 2);
  EXPECT_EQ(crushed[0].indices, (std::vector<int64_t>{0, 1, 2}));
}

TEST(Crushed, ChannelsOfOneTensor) {
  Calibrated head(kOneHead, [](Model& model) { scale(model, "v", 1000, 0, 4 * 16); });
  const auto crushed = head.crushed();
  ASSERT_EQ(crushed.size(), 1U);
  EXPECT_EQ(crushed[0].quantizer.tensor, "y");
  EXPECT_EQ(crushed[0].axis, 1);
  EXPECT_EQ(crushed[0].indices, (std::vector<int64_t>{4, 5, 6, 7, 8, 9}));
  EXPECT_NE(sentence_of(crushed[0]).find("'y' at indices 4 to 9 of axis 1: "), std::string::npos);
}

/// A relu cuts away nearly all of the range of one channel, and the rest is multiplied by ten.
TEST(Crushed, WhatAnActivationLeaves) {
  Calibrated cut(
      "graph g(x: f32[?, 8]) {\n  param @u: f32[6, 8]\n  param @c: f32[6]\n  param @ten: f32[1]\n"
      "  a = linear(x, w=@u, b=@c)\n  r = relu(a)\n  m = mul(r, b=@ten)\n  y = concat(x=[m, a]) {axis: 1}\n"
      "  return y\n}\n",
      [](Model& model) {
        scale(model, "u", 0, 0, 8);
        scale(model, "u", 3, 8);
        model.tensors.at("u").data<float>()[0] = 1;
        scale(model, "c", 0);
        model.tensors.at("c").data<float>()[0] = -2;
        scale(model, "ten", 0);
        model.tensors.at("ten").data<float>()[0] = 10;
      });
  const auto crushed = cut.crushed();
  ASSERT_EQ(crushed.size(), 3U) << "and 'r' and 'm', of steps as large";
  EXPECT_EQ(crushed[0].quantizer.tensor, "a");
  EXPECT_EQ(crushed[0].reader, "r");
  EXPECT_EQ(crushed[0].indices, std::vector<int64_t>{0});
  EXPECT_EQ(crushed[0].low, 0);
  EXPECT_NE(sentence_of(crushed[0]).find(" after 'r' span "), std::string::npos);
}

/// These channels lie inside the network. Their reader weights them like the others.
TEST(Crushed, ChannelsThatTheirReaderNeeds) {
  Calibrated inside(kOneHead, [](Model& model) {
    scale(model, "u", 1000, 0, 8 * 8);
    const auto reader = model.tensors.at("v").data<float>();
    for (size_t i = 0; i < reader.size(); ++i)
      reader[i] *= i / 16 < 5 ? (i % 16 < 8 ? 0.0F : 1.0F) : (i % 16 < 8 ? 1.0F : 0.0F);
  });
  const auto crushed = inside.crushed();
  ASSERT_EQ(crushed.size(), 2U);
  EXPECT_EQ(crushed[1].quantizer.tensor, "y") << "the outputs that are made of them are as small";
  EXPECT_EQ(crushed[0].quantizer.tensor, "r");
  EXPECT_EQ(crushed[0].indices.front(), 8);
  EXPECT_LT(crushed[0].output.index, 5);
}

TEST(Crushed, NothingWhereNothingIsLost) {
  EXPECT_TRUE(Calibrated(kTwoHeads, [](Model&) {}).crushed().empty());
  const auto dead = [](Model& model) { scale(model, "v", 0, 0, 4 * 16); };
  EXPECT_TRUE(Calibrated(kOneHead, dead).crushed().empty()) << "channels of zeros";
  const auto negligible = [](Model& model) { scale(model, "u", 1e-4F, 0, 8 * 8); };
  EXPECT_TRUE(Calibrated(kOneHead, negligible).crushed().empty()) << "channels that their reader hardly sees";
}

/// One scale for all weights of a layer.
TEST(Crushed, NothingOfWhatNoOutputDependsOn) {
  Calibrated heads(
      "graph g(x: f32[?, 8]) {\n  param @u: f32[6, 8]\n  param @v: f32[4, 8]\n  a = linear(x, w=@u)\n"
      "  scores = sigmoid(a)\n  boxes = linear(x, w=@v)\n  both = concat(x=[boxes, scores]) {axis: 1}\n"
      "  unread = relu(both)\n  return boxes\n}\n",
      [](Model& model) { scale(model, "v", 1000); });
  EXPECT_TRUE(heads.crushed().empty());
}

TEST(Crushed, ChannelsOfWeights) {
  const auto change = [](Model& model) { scale(model, "u", 1000, 0, 8); };
  Calibrated heads(kTwoHeads, change, "pow2_int8");
  const auto crushed = heads.crushed();
  ASSERT_FALSE(crushed.empty());
  EXPECT_TRUE(crushed[0].quantizer.is_weight);
  EXPECT_EQ(crushed[0].axis, 0);
  EXPECT_EQ(remedies_for(heads.model, crushed[0]).front(), (Remedy{"--overrides", {"weights.granularity=channel"}}));
}

TEST(Crushed, RemediesAreWordsForAShell) {
  EXPECT_EQ(text_of({"--skip-layers", {"it's"}}), R"(--skip-layers 'it'\''s')");
  EXPECT_EQ(text_of({"--bits", {"a=b=/16"}}), "--bits 'a=b'=/16");
  EXPECT_EQ(text_of({"--repair", {"equalize"}}), "--repair equalize");
}

}  // namespace
}  // namespace halfstep::sensitivity

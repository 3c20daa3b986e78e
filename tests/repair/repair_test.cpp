// Repairs of the digits: a repair that is kept is closer to the float network, and bad input is reported.
#include "halfstep/tune/repair/repair.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/evaluate/teacher.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/tune/repair/errors.h"
#include "halfstep/tune/repair/layers.h"
#include "tests/repair/digits.h"
#include "tests/support/error.h"

namespace halfstep::repair {
namespace {

TEST(Repair, NeverEndsFartherFromTheFloatNetwork) {
  const Report report = *quantized(network(), options(3, 3, {"auto"})).repair;
  EXPECT_EQ(report.steps.size(), method_list().size());
  EXPECT_LT(report.last.loss, report.first.loss);
  double distance = report.first.loss;
  for (const Step& step : report.steps) {
    EXPECT_EQ(step.before.loss, distance) << step.name;
    EXPECT_FALSE(step.what.empty()) << step.name;
    if (!step.kept) continue;
    EXPECT_LT(step.after.loss, distance) << step.name;
    distance = step.after.loss;
  }
  EXPECT_EQ(report.last.loss, distance);
}

/// A layer without a bias, two that share their weights, and one that is corrected.
TEST(Repair, LayersThatAreNotCorrectedAreNamed) {
  const Model network = train::initialize(
      parse("graph g(x: f32[?, 8]) {\n  param @u: f32[8, 8]\n  param @v: f32[8, 8]\n  param @w: f32[8, 8]\n"
            "  param @b: f32[8]\n  a = linear(x, w=@u)\n  c = linear(a, w=@v, b=@b)\n  d = linear(c, w=@w)\n"
            "  e = linear(d, w=@w)\n  return e\n}\n",
            "g.ir"),
      3);
  const Model model = quant::prepare(network, quant::load_platform("generic_int8"), {});
  EXPECT_EQ(left_out(model), "; left out: a (no bias); d, e (shared weights)");
  EXPECT_EQ(layers_with_bias(model).size(), 1U);
  quant::PrepareOptions bit_widths;
  bit_widths.skip_layers = {"a", "d", "e"};
  EXPECT_EQ(left_out(quant::prepare(network, quant::load_platform("generic_int8"), bit_widths)), "");
}

/// A padded layer has more channels than the output with its name.
TEST(Repair, MomentsAreThoseOfTheValue) {
  const Model model =
      train::initialize(parse("graph g(x: f32[?, 8]) {\n  param @w: f32[6, 8]\n  y = linear(x, w=@w)\n"
                              "  z = slice(x=y) {starts: [0], ends: [4], axes: [1]}\n  return y = z\n}\n",
                              "g.ir"),
                        3);
  data::Dataset data;
  data.name = "zeros";
  data.raw = false;
  data.x = Tensor(DType::f32, {4, 8});
  ThreadPool pool(1);
  EXPECT_EQ(moments_of(model, {{"y"}}, all_of(data), pool).at("y").mean.size(), 6U);
}

TEST(Repair, WhatIsUndoneLeavesNoTrace) {
  const Model plain = quantized(network(), options(8, 8, {})).model;
  for (const MethodInfo& method : method_list()) {
    if (method.is_costly) continue;
    const api::QuantizeResult result = quantized(network(), options(8, 8, {method.name}));
    EXPECT_EQ(digest_hex(result.model) == digest_hex(plain), !result.repair->steps[0].kept) << method.name;
  }
}

/// A layer of four outputs whose rounding shifts their means by a known number.
struct Shifted {
  static constexpr double kShift = -0.14;  // seven weights of 1.4 steps of 0.1 become 1, on inputs of mean 1/2
  data::Dataset data;
  Model model;
  ThreadPool pool{1};

  Shifted() {
    Random random(3, 0);
    data.name = "uniform";
    data.raw = false;
    data.x = Tensor(DType::f32, {512, 8});
    for (float& value : data.x.data<float>()) value = random.uniform();
    Model network = train::initialize(parse("graph g(x: f32[?, 8]) {\n  param @w: f32[4, 8]\n  param @b: f32[4]\n"
                                            "  y = linear(x, w=@w, b=@b)\n  return y\n}\n",
                                            "g.ir"),
                                      1);
    const auto weights = network.tensors.at("w").data<float>();
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = i % 8 == 0 ? 0.7F : 0.14F;
    const auto platform = quant::load_platform("generic_int8", {{"low_bits.observer", "minmax"}});
    model = quant::prepare(network, platform);
    quant::set_bits(model, "y", 4, std::nullopt);
    train::calibrate(model, samples(), {}, pool);
  }

  data::Samples samples() const { return all_of(data); }

  double mean(const Model& of) { return moments_of(of, {{"y"}}, samples(), pool).at("y").mean[2]; }
};

TEST(Repair, TakesAKnownShiftOutOfBiases) {
  Shifted one;
  const double in_float = one.mean(train::teacher_of(one.model, "test"));
  EXPECT_NEAR(one.mean(simulated(one.model)) - in_float, Shifted::kShift, 0.01);
  for (const char* method : {"bias", "batchnorm"}) {
    const Outcome outcome = repair(one.model, one.samples(), {}, {{method}}, one.pool);
    EXPECT_TRUE(outcome.report.steps[0].kept);
    EXPECT_NEAR(one.mean(simulated(outcome.model)) - in_float, 0, 0.01) << method;
  }
}

TEST(Repair, SameBitsForAnyNumberOfThreads) {
  const auto with = [](int threads) {
    return digest_hex(quantized(network(), options(4, 4, {"auto"}), threads).model);
  };
  EXPECT_EQ(with(1), with(2));
}

TEST(Repair, ItsIntegersAreProven) {
  const api::QuantizeResult result = quantized(network(), options(4, 4, {"equalize", "ranges", "batchnorm", "bias"}));
  const auto program = api::convert(result.model);
  const auto proof = api::verify(result.model, program.model, digits(), {}, {});
  EXPECT_TRUE(proof.equal());
}

TEST(Repair, WidensActivationsWhereThePlatformCan) {
  Shifted one;
  quant::set_bits(one.model, "y", 8, std::nullopt);
  for (float& weight : one.model.tensors.at("w").data<float>())  // the remaining error is the rounding of activations
    weight = std::round(weight / 0.7F * 127) * 0.7F / 127;
  const Outcome refused = repair(one.model, one.samples(), {}, {{"wide"}}, one.pool);
  EXPECT_EQ(refused.report.steps[0].what, "the platform allows no activations of 16 bits for any of its layers");
  one.model.metadata.platform =
      PlatformRecord(quant::load_platform("generic_int8", {{"activations.legal_bits", "[8, 16]"}}).text);
  const Outcome outcome = repair(one.model, one.samples(), {}, {{"wide"}}, one.pool);
  EXPECT_TRUE(outcome.report.steps[0].kept) << outcome.report.steps[0].what;
  const auto quantizers = outcome.model.graph.all<ops::FakeQuantize>();
  EXPECT_EQ(std::ranges::count_if(quantizers, [](const auto& q) { return quant::bits_of(q) == 16; }), 1);
}

TEST(Repair, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(test::diagnostic_of([] { quantized(network(), options(8, 8, {"equalise"})); }),
            errors::repair_method_unknown(
                "equalise", "equalize, smooth, ranges, batchnorm, bias, blocks, adaround, brecq, qdrop, wide, auto",
                ", did you mean 'equalize'?"));
  Options resumed;
  resumed.resume = true;
  EXPECT_EQ(test::diagnostic_of([&] { check_methods(resumed); }), errors::repair_resume_without_folder());
}

TEST(Repair, NeedsMoreThanOneSample) {
  Shifted one;
  data::Samples single = one.samples();
  single.indices.resize(1);
  EXPECT_EQ(test::kind_of([&] { repair(one.model, single, {}, {{"bias"}}, one.pool); }), ErrorKind::bad_input);
}

TEST(Repair, NamesTheLayerThatGivesNoNumbers) {
  Model model = quantized(network(), options(8, 8, {})).model;
  model = clone(model);
  model.tensors.at("conv3.b").data<float>()[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(test::name_of([&] { api::repair(model, digits(), options(8, 8, {"bias"}), {}); }), "value_not_finite");
}

}  // namespace
}  // namespace halfstep::repair

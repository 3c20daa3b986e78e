// Warnings of calibration about ranges: in branches that no sample takes, and of values that depend on dynamic
// dimensions.
#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/data/datasets/dataset.h"
#include "halfstep/passes/graph/dependence.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/calibrate/errors.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "tests/support/error.h"

namespace halfstep::train {
namespace {

constexpr const char* kGate = R"(graph gate(x: f32[?, 8]) {
  param @w: f32[8, 8]
  param @v: f32[8, 8]
  const @limit: f32[]
  m = reduce_max(x) {axes: [0, 1]}
  on = greater(a=m, b=@limit)
  r = if(cond=on, captured=[x]) region then(a: f32[?, 8]) {
    p = linear(x=a, w=@w)
    return p
  } region else(b: f32[?, 8]) {
    q = linear(x=b, w=@v)
    return q
  }
  y = relu(x=r)
  return y
})";

constexpr const char* kPositions = R"(graph positions(x: f32[?, ?, 4]) {
  param @w: f32[4, 4]
  p = positions(like=x) {axis: 1}
  f = cast(p) {to: "f32"}
  u = unsqueeze(f) {axes: [1]}
  s = add(a=x, b=u)
  rows = reshape(x=s) {dims: [-1, 4]}
  l = linear(rows, w=@w)
  c = cumsum(x) {axis: 2}
  return l, c
})";

struct Outcome {
  Model model;
  Calibrated calibrated;

  float low(const std::string& value) const { return end(value, true); }
  float high(const std::string& value) const { return end(value, false); }
  float end(const std::string& value, bool is_low) const {
    for (const auto& quantizer : model.graph.all<ops::FakeQuantize>()) {
      const auto observer = quant::observer_of(quantizer);
      if (quantizer.x().name() == value)
        return model.tensors.at((is_low ? observer.low() : observer.high()).name()).data<float>()[0];
    }
    ADD_FAILURE() << value << " has no quantizer";
    return 0;
  }
};

Outcome outcome_of(const char* network, const Dims& sample, float limit, std::optional<int64_t> max_length = {}) {
  Model source = initialize(parse(network, "g.ir"), 3);
  if (const auto found = source.tensors.find("limit"); found != source.tensors.end())
    found->second.data<float>()[0] = limit;
  Outcome outcome{quant::prepare(source, quant::load_platform("generic_int8")), {}};
  data::Dataset data;
  data.name = "given";
  data.raw = false;
  Dims dims = sample;
  dims.insert(dims.begin(), 32);
  data.x = Tensor(DType::f32, dims);
  Random random(5, 0);
  for (float& value : data.x.data<float>()) value = random.normal();
  data::Samples samples{&data, {}, "x", {}};
  for (int64_t i = 0; i < data.size(); ++i) samples.indices.push_back(i);
  ThreadPool pool(1);
  outcome.calibrated = calibrate(outcome.model, samples, {.batch = 16, .max_length = max_length}, pool);
  return outcome;
}

// A3.15
TEST(Warnings, ABranchThatNoSampleTakesHasTheRangesOfThoseThatWouldTakeIt) {
  const Outcome never = outcome_of(kGate, {8}, 1e9F), always = outcome_of(kGate, {8}, -1e9F);
  EXPECT_EQ(
      never.calibrated.warnings,
      std::vector<std::string>{"if 'r': region 'then': none of 32 samples takes it, so its ranges come from other "
                               "samples; add samples that take it"});
  EXPECT_EQ(always.calibrated.warnings.size(), 1U);
  EXPECT_NE(always.calibrated.warnings[0].find("region 'else'"), std::string::npos);
  for (const char* value : {"p", "q"}) {
    EXPECT_LT(never.low(value), never.high(value));
    EXPECT_EQ(never.low(value), always.low(value));
    EXPECT_EQ(never.high(value), always.high(value));
  }
  EXPECT_EQ(outcome_of(kGate, {8}, 1.5F).calibrated.warnings, std::vector<std::string>());
}

TEST(Warnings, ValuesDependOnSamplesAndOnLengths) {
  const auto depends = passes::dependences(initialize(parse(kPositions, "g.ir"), 3), {{"x", {1, 6, 4}}});
  EXPECT_FALSE(depends.at("f").samples);
  EXPECT_TRUE(depends.at("f").lengths);
  EXPECT_TRUE(depends.at("s").samples && depends.at("s").lengths);
  EXPECT_TRUE(depends.at("c").samples);
  EXPECT_FALSE(depends.at("c").lengths);  // its axis is not dynamic
}

// A3.16
TEST(Warnings, ARangeThatDependsOnADynamicDimHoldsForTheLargestOneNamed) {
  const Outcome shorter = outcome_of(kPositions, {6, 4}, 0), longer = outcome_of(kPositions, {6, 4}, 0, 40);
  ASSERT_EQ(shorter.calibrated.warnings.size(), 1U);
  EXPECT_NE(shorter.calibrated.warnings[0].find("valid for 'x' [?, 6, 4]"), std::string::npos)
      << shorter.calibrated.warnings[0];
  EXPECT_EQ(longer.calibrated.warnings, std::vector<std::string>());
  EXPECT_LT(shorter.high("s"), 12);
  EXPECT_GT(longer.high("s"), 36);
  EXPECT_EQ(longer.low("x"), shorter.low("x"));
  EXPECT_EQ(longer.high("x"), shorter.high("x"));
}

TEST(Warnings, LengthsThatDoNotFit) {
  EXPECT_EQ(test::diagnostic_of([] {
              outcome_of(kPositions, {6, 4}, 0, 5);
            }),
            errors::max_length_too_short(5, 6, "x", 1));
  EXPECT_EQ(test::diagnostic_of([] { outcome_of(kGate, {8}, 0, 5); }),
            errors::max_length_without_dynamic_dimension(5, "gate"));
}

}  // namespace
}  // namespace halfstep::train

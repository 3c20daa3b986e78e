// Networks with branches and loops are repaired wherever a method has the values that it needs.
#include <gtest/gtest.h>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/tune/repair/repair.h"
#include "halfstep/tune/repair/scalable_channels.h"

namespace halfstep::repair {
namespace {

constexpr int64_t kSamples = 160;

/// Two layers in a branch with very different channel magnitudes, and one layer behind it.
Model network() {
  Model model = train::initialize(parse(R"(graph g(x: f32[?, 6]) {
  param @h: f32[8, 6]
  param @hb: f32[8]
  param @u: f32[8, 8]
  param @ub: f32[8]
  param @v: f32[8, 8]
  param @vb: f32[8]
  param @w: f32[4, 8]
  param @wb: f32[4]
  const @none: f32[]
  a = linear(x, w=@h, b=@hb)
  total = reduce_sum(a) {axes: [], keep_dims: false}
  up = greater(a=total, b=@none)
  r = if(cond=up, captured=[a]) region then(p: f32[?, 8]) {
    first = linear(p, w=@u, b=@ub)
    bent = relu(first)
    second = linear(bent, w=@v, b=@vb)
    return second
  } region else(q: f32[?, 8]) {
    z = sigmoid(q)
    return z
  }
  y = linear(r, w=@w, b=@wb)
  return y
}
)",
                                        "g.ir"),
                                  4);
  model.tensors["none"].data<float>()[0] = 0;
  const auto u = model.tensors["u"].data<float>();
  for (size_t i = 0; i < u.size(); ++i) u[i] *= i / 8 % 2 == 0 ? 32.0F : 0.125F;
  const auto v = model.tensors["v"].data<float>();
  for (size_t i = 0; i < v.size(); ++i) v[i] *= i % 2 == 0 ? 0.03125F : 8.0F;
  return model;
}

class RepairOfRegions : public testing::Test {
 protected:
  void SetUp() override {
    data_.name = "random";
    data_.x = Tensor(DType::f32, {kSamples, 6});
    data_.raw = false;
    Random random(6, 0);
    for (float& value : data_.x.data<float>()) value = random.normal();
    for (int64_t i = 0; i < kSamples; ++i) samples_.indices.push_back(i);
    prepared_ = quant::prepare(network(), quant::load_platform("generic_int8"), {4, 6, {}});
    train::calibrate(prepared_, samples_, calibration_, pool_);
  }

  Outcome repaired(const std::vector<std::string>& methods) {
    return repair(prepared_, samples_, calibration_, {.methods = methods}, pool_);
  }

  data::Dataset data_;
  data::Samples samples_{&data_, {}, "x", {}};
  train::CalibrateOptions calibration_{.batch = 32, .batches = 5};
  ThreadPool pool_{1};
  Model prepared_;
};

TEST_F(RepairOfRegions, ChannelsInsideAreEvenedOutAndTheFloatNetworkStays) {
  EXPECT_TRUE(channel_groups(prepared_).empty());
  const auto groups = channel_groups_of_all(prepared_);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].givers[0].layer, "first");
  EXPECT_EQ(groups[0].readers[0].layer, "second");
  Model scaled = prepared_;
  scale_channels(scaled, groups[0], {2, 4, 0.5F, 1, 8, 0.25F, 2, 16});
  EXPECT_FALSE(scaled.tensors.at("u").same_bits(prepared_.tensors.at("u")));
  const Tensors inputs = samples_.inputs(0, 1);
  const auto in_float = [&](Model model) {
    passes::bypass_quantizers(model);
    return train::BatchRunner(train::evaluation_form(model), {}, pool_).run(inputs).at("y");
  };
  EXPECT_TRUE(in_float(scaled).same_bits(in_float(prepared_)));
  const Outcome outcome = repaired({"equalize"});
  EXPECT_TRUE(outcome.report.steps[0].kept) << outcome.report.steps[0].what;
  EXPECT_LT(outcome.report.last.loss, 0.5 * outcome.report.first.loss);
}

TEST_F(RepairOfRegions, WhatMethodsLeaveIsNamed) {
  const Outcome outcome = repaired({"smooth", "ranges", "batchnorm", "bias", "blocks", "adaround", "wide"});
  const auto what = [&](const std::string& method) {
    return std::ranges::find(outcome.report.steps, method, &Step::name)->what;
  };
  for (const char* method : {"bias", "batchnorm"})
    EXPECT_NE(what(method).find("first, second (inside branches and loops)"), std::string::npos) << what(method);
  for (const char* method : {"blocks", "adaround"})
    EXPECT_EQ(what(method), "the network has branches or loops, and is not cut into blocks");
  for (const char* method : {"smooth", "wide"})
    EXPECT_NE(what(method).find("left out: layers inside if 'r'"), std::string::npos) << what(method);
  EXPECT_LT(outcome.report.last.loss, outcome.report.first.loss);
}

}  // namespace
}  // namespace halfstep::repair

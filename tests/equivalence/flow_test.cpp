// Branches and loops on codes: quantizers inside of them, conversion, and the comparison of each entry into a region.
#include <gtest/gtest.h>

#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/region.h"
#include "tests/equivalence/flow.h"

namespace halfstep::test {
namespace {

// A7.1
TEST(FlowPaths, GoAllTheWayToIntegers) {
  Flow flow;
  const Model integer = flow.integers();
  for (const Op op : integer.graph.all_ops()) EXPECT_FALSE((op.is<ops::Linear, ops::FakeQuantize>())) << op.where();
  const verify::VerifyReport report = flow.prove(integer);
  EXPECT_TRUE(report.equal());
  EXPECT_TRUE(report.notes.empty());
  const int64_t samples = report.samples;
  const auto& state = layer(report, "from_state");
  EXPECT_EQ(state.layer.path, "scan 'cell'");
  EXPECT_EQ(state.compared, samples * 5 * 6);
  ASSERT_TRUE(state.semantics);
  EXPECT_EQ(state.semantics->compared, state.compared + 36);
  EXPECT_EQ(layer(report, "up").layer.path, "if 'choice'");
  EXPECT_EQ(layer(report, "up").compared + layer(report, "soft").compared, samples * 6);
  EXPECT_GT(layer(report, "up").compared, 0);
  EXPECT_GT(layer(report, "soft").compared, 0);
  EXPECT_GT(layer(report, "grown").compared, samples * 6);
  EXPECT_EQ(layer(report, "logits").layer.path, "");
}

TEST(FlowPaths, ShowWhereACodeDiffersFirst) {
  Flow flow;
  Model integer = flow.integers();
  verify::inject(integer, "from_state:3");
  const verify::VerifyReport report = flow.prove(integer);
  EXPECT_FALSE(report.equal());
  const auto& state = layer(report, "from_state");
  ASSERT_TRUE(state.activation);
  EXPECT_EQ(state.activation->path, "scan 'cell', iteration 0");
  EXPECT_EQ(state.parameters_differing, 1);
  EXPECT_NE(report::verdict(report).find("activation: scan 'cell', iteration 0: layer 'from_state': activation code "),
            std::string::npos)
      << report::verdict(report);
}

TEST(FlowPaths, HoldEveryLayerToWhatTheNetworkMeans) {
  Flow flow;
  flow.prepared.source =
      std::make_shared<const Source>(Source{Flow::network("sigmoid"), flow.prepared.source->samples});
  const verify::VerifyReport report = flow.prove(flow.integers());
  EXPECT_GT(layer(report, "next").semantics->beyond, 0);
  EXPECT_EQ(layer(report, "from_state").semantics->beyond, 0);
  EXPECT_FALSE(report.equal());
}

/// A quantizer's range covers its values in all iterations of all samples.
// A3.8
TEST(FlowPaths, ObserveAllIterations) {
  Flow flow;
  const Model cell = region_model(flow.source, *flow.source.graph.op("cell").regions()[0], "cell");
  runtime::Program around = compile(specialize(flow.source, {{"x", {1, 5, 4}}}), {.fetch = {"begin", "steps"}});
  runtime::Program body = compile(specialize(cell, {{"h", {1, 6}}, {"row", {1, 4}}}), {.fetch = {"next", "both"}});
  float low = 0, high = 0;
  for (int64_t sample = 0; sample < flow.parts.train.size(); ++sample) {
    const auto given = around.run(flow.parts.train.inputs(sample, 1), flow.pool);
    Tensor h = given.at("begin");
    for (int64_t step = 0; step < 5; ++step) {
      const Tensor row = given.at("steps").rows(step, step + 1).reshaped({1, 4});
      const auto out = body.run({{"h", h}, {"row", row}}, flow.pool);
      for (const float value : out.at("both").data<float>()) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
      h = out.at("next");
    }
  }
  EXPECT_NEAR(flow.prepared.tensors.at("both.low").data<float>()[0], low, 1e-5F);
  EXPECT_NEAR(flow.prepared.tensors.at("both.high").data<float>()[0], high, 1e-5F);
}

TEST(FlowPaths, StayInFloatWholeWhereAsked) {
  quant::PrepareOptions options;
  options.skip_layers = {"cell", "loop"};
  Flow flow(options);
  const auto fallbacks = quant::float_fallback(flow.prepared);
  const auto has = [&](const char* name) {
    return std::ranges::any_of(fallbacks, [&](const auto& fallback) { return fallback.layer == name; });
  };
  EXPECT_TRUE(has("from_state"));
  EXPECT_TRUE(has("grown"));
  EXPECT_FALSE(has("up"));
  EXPECT_FALSE(has("cell"));
  EXPECT_TRUE(flow.prove(flow.integers()).equal());
}

/// A quantizer in a branch that is never taken has the range of the values that it would have received.
TEST(FlowPaths, HaveRangesInABranchThatNobodyTakes) {
  const Flow flow({}, 40.0F);
  const auto range_end = [&](const char* name) { return flow.prepared.tensors.at(name).data<float>()[0]; };
  EXPECT_LT(range_end("soft.low"), range_end("soft.high"));
}

/// A scanned value keeps its codes from outside. A state has the codes of its next value, and the result of a loop has
/// the codes that it has inside.
TEST(FlowPaths, ShareScalesWhereValuesPassThrough) {
  const Flow flow;
  const auto scale_of = [&](const char* value) {
    for (const auto& quantizer : flow.prepared.graph.all<ops::FakeQuantize>()) {
      if (quantizer.x().name() == value) return quantizer.scale().name();
    }
    return std::string("none");
  };
  EXPECT_EQ(scale_of("row"), "x.scale");
  EXPECT_EQ(scale_of("h"), "h.scale");
  EXPECT_EQ(scale_of("next"), "h.scale");
  EXPECT_EQ(scale_of("v"), scale_of("sum"));
  EXPECT_EQ(scale_of("loop.out1"), scale_of("sum"));
  EXPECT_NE(scale_of("soft"), scale_of("up"));
}

TEST(FlowPaths, AreAuditedWithTheirPath) {
  const auto audit = quant::audit(Flow().prepared);
  const auto row = std::ranges::find_if(audit.quantizers, [](const auto& one) { return one.layer == "from_state"; });
  ASSERT_NE(row, audit.quantizers.end());
  EXPECT_EQ(row->path, "scan 'cell'");
  EXPECT_NE(report::as_text(audit).find("scan 'cell'"), std::string::npos);
}

}  // namespace
}  // namespace halfstep::test

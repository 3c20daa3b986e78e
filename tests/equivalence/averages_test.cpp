// Averages that exclude padding, on both execution paths.
#include <gtest/gtest.h>

#include "halfstep/core/ir/ops.h"
#include "tests/equivalence/fixture.h"

namespace halfstep::test {
namespace {

Prepared averages(const std::string& platform, const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  return Prepared(platform, {}, overrides, HALFSTEP_SOURCE_DIR "/tests/equivalence/averages.ir");
}

class AveragesOn : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(ExecutionPaths, AveragesOn,
                         testing::Values("generic_int8", "pow2_int8", "magik_t40", "onnxruntime_int8", "pytorch_fbgemm",
                                         "pytorch_x86", "signed_pow2_int8"),
                         [](const auto& name) { return std::string(name.param); });

// A5.8, A7.1
TEST_P(AveragesOn, BothPathsAreEqual) {
  Prepared prepared = averages(GetParam());
  const auto conversion = quant::convert(prepared.model);
  const ops::IntegerAvgPool2d cut(conversion.model.graph.op("cut").node());
  EXPECT_FALSE(cut.count_include_pad());
  const auto report = prepared.compare(api::paths_of(prepared.model, conversion.model));
  for (const auto& layer : report.layers) {
    EXPECT_GT(layer.compared, 0) << layer.layer.name;
    EXPECT_EQ(layer.differing + layer.parameters_differing, 0) << layer.layer.name;
  }
}

/// Windows at the edges have 1 and 2 elements. Their factors are 4 and 2 times the factor of a full window.
// A5.8
TEST(Averages, HaveAMultiplierForEveryCount) {
  const auto conversion = quant::convert(averages("generic_int8").model);
  const ops::IntegerAvgPool2d cut(conversion.model.graph.op("cut").node());
  EXPECT_EQ(cut.edge_counts(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(cut.edge_multipliers(), (std::vector<int64_t>{cut.multiplier(), cut.multiplier()}));
  EXPECT_EQ(cut.edge_shifts(), (std::vector<int64_t>{cut.shift() - 2, cut.shift() - 1}));
  std::vector<std::string> proved;
  for (const auto& proof : conversion.proofs) proved.push_back(proof.layer);
  EXPECT_EQ(proved, (std::vector<std::string>{"conv", "cut", "counted", "mean", "head"}));
}

}  // namespace
}  // namespace halfstep::test

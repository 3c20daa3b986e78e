// The stage that a Model declares, compared with the stages that its graph permits.
#include "halfstep/core/ir/errors.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/quant/prepare/prepare.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::diagnostic_of;

const Model& in_float() {
  static const Model kModel = test::images("  c = conv2d(x, w=@w)\n  return c\n");
  return kModel;
}

TEST(Stage, FollowsFromAGraphThatComesWithoutMetadata) {
  const Model prepared = test::calibrated(test::prepared(in_float()));
  EXPECT_EQ(stage_of_graph(in_float().graph, true), Stage::float_network);
  EXPECT_EQ(stage_of_graph(prepared.graph, true), Stage::prepared);
  EXPECT_EQ(stage_of_graph(prepared.graph, false), Stage::float_network) << "quantizers that somebody wrote";
  EXPECT_EQ(stage_of_graph(convert(prepared).model.graph, true), Stage::integer);
}

TEST(Stage, IsCheckedWhereAModelIs) {
  const auto error = [](Model model, Stage stage, bool keeps_platform) {
    model.metadata.stage = stage;
    if (!keeps_platform) model.metadata.platform = {};
    return diagnostic_of([&] { check(model); });
  };
  const auto expected = [](const char* found, const char* by_graph) {
    return errors::metadata_stage("graph 'g': metadata.stage", found, by_graph);
  };
  const Model prepared = test::calibrated(test::prepared(in_float()));
  EXPECT_EQ(error(prepared, Stage::prepared, true), Diagnostic{});
  EXPECT_EQ(error(prepared, Stage::float_network, true), Diagnostic{});
  EXPECT_EQ(error(prepared, Stage::prepared, false), expected("prepared", "float"));
  EXPECT_EQ(error(prepared, Stage::integer, true), expected("integer", "prepared"));
  EXPECT_EQ(error(in_float(), Stage::integer, true), expected("integer", "float"));
  EXPECT_EQ(error(convert(prepared).model, Stage::prepared, true), expected("prepared", "integer"));
}

}  // namespace
}  // namespace halfstep::quant

// Clips that are activations, and what keeps a graph from being optimized for inference alone.
#include "halfstep/passes/name_clips.h"

#include <gtest/gtest.h>

#include "halfstep/ir/ops.h"
#include "halfstep/ir/parse.h"
#include "halfstep/passes/traits.h"

namespace halfstep::passes {
namespace {

/// The operator that a clip between these bounds is afterwards.
std::string named(const std::string& operands, float lowest, float highest) {
  Model model;
  model.graph = parse("graph g(x: f32[3]) {\n  const @lowest: f32[]\n  const @highest: f32[]\n  y = clip(x" + operands +
                      ")\n  return y\n}\n");
  model.tensors = {{"lowest", Tensor::scalar(lowest).reshaped({})}, {"highest", Tensor::scalar(highest).reshaped({})}};
  name_clips(model);
  return model.graph.op("y").info().name;
}

TEST(NameClips, BoundsOfActivations) {
  const std::string both = ", lowest=@lowest, highest=@highest";
  EXPECT_EQ(named(both, 0, 6), "relu6");
  EXPECT_EQ(named(", lowest=@lowest", 0, 6), "relu");
  EXPECT_EQ(named(both, 0, 5), "clip");
  EXPECT_EQ(named(both, -1, 6), "clip");
  EXPECT_EQ(named(", highest=@highest", 0, 6), "clip");
}

TEST(Traits, OperatorsThatDecideCodes) {
  const auto decides = [](const std::string& line) {
    return decides_codes(parse("graph g(x: f32[1, 2, 3, 3]) {\n  y = " + line + "\n  return y\n}\n").op("y"));
  };
  EXPECT_TRUE(decides("fake_quantize_dequantize_abs_max(x)"));
  EXPECT_FALSE(decides("relu(x)"));
  for (const OpInfo& info : all_operators()) {
    if (info.quant.trait != "quantizer" && !info.record.starts_with("ops/integer.yaml")) continue;
    detail::OpNode node;
    node.info = &info;
    EXPECT_TRUE(decides_codes(Op(&node))) << info.name;
  }
}

}  // namespace
}  // namespace halfstep::passes

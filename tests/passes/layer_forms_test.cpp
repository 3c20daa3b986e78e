// Clips, which depend on the contents of tensors. Text cases in tests/passes/texts/layer_forms.ir cover the rest.
#include "halfstep/passes/canonical/layer_forms.h"

#include <gtest/gtest.h>

#include <limits>

#include "halfstep/core/ir/text/parse.h"
#include "tests/passes/reference_run.h"

namespace halfstep::passes {
namespace {

/// The operator that clip(x, lowest, highest) becomes.
std::string form_of(float lowest, float highest) {
  Model model = sample_model(parse(R"(graph clipped(x: f32[3]) {
  const @low: f32[]
  const @high: f32[]
  y = clip(x, lowest=@low, highest=@high)
  return y
})"));
  model.tensors["low"] = Tensor::scalar(lowest).reshaped({});
  model.tensors["high"] = Tensor::scalar(highest).reshaped({});
  layer_forms(model);
  check(model);
  return model.graph.op("y").info().name;
}

TEST(LayerForms, ClipsFromZero) {
  EXPECT_EQ(form_of(0, 6), "relu6");
  EXPECT_EQ(form_of(0, std::numeric_limits<float>::infinity()), "relu");
  EXPECT_EQ(form_of(0, std::numeric_limits<float>::max()), "relu");
  EXPECT_EQ(form_of(0, 1), "clip");
  EXPECT_EQ(form_of(-1, 6), "clip");
}

TEST(LayerForms, ClipWithoutAnUpperEdge) {
  Model model = sample_model(parse(R"(graph clipped(x: f32[3]) {
  const @low: f32[]
  y = clip(x, lowest=@low)
  return y
})"));
  model.tensors["low"] = Tensor::scalar(0.0F).reshaped({});
  layer_forms(model);
  EXPECT_EQ(model.graph.op("y").info().name, "relu");
  EXPECT_TRUE(model.tensors.empty());
}

}  // namespace
}  // namespace halfstep::passes

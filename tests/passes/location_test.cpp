// New operations carry the source location of the operations that they replace, so that errors point into the user's
// text.
#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/optimize/fuse_activations.h"
#include "tests/passes/reference_run.h"

namespace halfstep::passes {
namespace {

constexpr const char* kText = R"(graph layer(x: f32[3, 4], labels: i32[3]) {
  param @w: f32[5, 4]
  y = linear(x, w=@w)
  r = relu(y)
  s = add(a=r, b=r)
  loss = softmax_cross_entropy(s, labels=labels)
  return loss
})";

TEST(Locations, OfGradientsAreThoseOfTheirForwardOperations) {
  Model model = sample_model(parse(kText, "net.ir"));
  const Gradients gradients = autodiff(model, model.graph.value("loss"), {"w"});
  EXPECT_EQ(to_string(gradients.of.at("w").producer().location()), "net.ir:3");
  EXPECT_EQ(to_string(model.graph.op("s.grad").location()), "net.ir:6");
  EXPECT_EQ(to_string(model.graph.op("r.grad.3").location()), "net.ir:5") << "the sum";
}

TEST(Locations, OfAFusedLayerIsTheLayers) {
  Model model = sample_model(parse(kText, "net.ir"));
  fuse_activations(model.graph);
  ASSERT_TRUE(model.graph.op("r"));
  EXPECT_EQ(to_string(model.graph.op("r").location()), "net.ir:3");
}

}  // namespace
}  // namespace halfstep::passes

// Contents of the tensors that the optimizer keeps. Text cases in tests/passes/texts/add_optimizer.ir cover their names
// and operations.
#include "halfstep/passes/gradient/optimizer.h"

#include <gtest/gtest.h>

#include <array>

#include "halfstep/core/ir/text/parse.h"
#include "tests/passes/reference_run.h"

namespace halfstep::passes {
namespace {

constexpr const char* kText = R"(
graph layer(x: f32[3, 4], labels: i32[3]) {
  param @w: f32[5, 4]
  y = linear(x, w=@w)
  loss = softmax_cross_entropy(y, labels=labels)
  return loss
})";

Model with_optimizer(const OptimizerSpec& spec) {
  Model model = sample_model(parse(kText));
  const Gradients gradients = autodiff(model, model.graph.value("loss"), {"w"});
  add_optimizer(model, gradients, spec);
  check(model);
  return model;
}

void expect_filled(const Model& model, const std::string& name, float value) {
  for (const float element : model.tensors.at(name).data<float>()) EXPECT_EQ(element, value) << name;
}

TEST(Optimizer, MomentumStartsAtZero) { expect_filled(with_optimizer({}), "w.velocity", 0.0f); }

TEST(Optimizer, AdamStartsAtZeroMomentsAndPowersOfOne) {
  const Model model = with_optimizer({.kind = OptimizerSpec::Kind::adam});
  for (const char* name : {"w.moment1", "w.moment2"}) expect_filled(model, name, 0.0f);
  for (const char* name : {"w.beta1_power", "w.beta2_power"}) expect_filled(model, name, 1.0f);
}

TEST(Optimizer, AttributesAndFactorArriveAtTheStep) {
  const Model model = with_optimizer({.momentum = 0.5,
                                      .weight_decay = 0.125,
                                      .unit = {{"w", Tensor::of<float>(DType::f32, {1, 1}, std::array{0.25F})}}});
  const Op step = model.graph.op("w.step");
  ASSERT_TRUE(step);
  EXPECT_EQ(get<double>(step.attributes(), "momentum"), 0.5);
  EXPECT_EQ(get<double>(step.attributes(), "weight_decay"), 0.125);
  expect_filled(model, "w.unit", 0.25f);
  EXPECT_EQ(step.in(step.info().input("grad")).name(), "w.factored");
}

}  // namespace
}  // namespace halfstep::passes

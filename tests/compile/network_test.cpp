// A training step of a whole network: the same bits for any number of threads, with and without shared memory.
#include <gtest/gtest.h>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/gradient/optimizer.h"
#include "halfstep/passes/quantized/training_form.h"
#include "tests/compile/support.h"

namespace halfstep {
namespace {

using namespace testing_compile;

constexpr const char* kNetwork = R"(
graph net(x: f32[16, 1, 8, 8], labels: i32[16]) {
  param @conv1.w: f32[32, 1, 3, 3]
  param @bn1.scale: f32[32]
  param @bn1.bias: f32[32]
  state @bn1.mean: f32[32]
  state @bn1.variance: f32[32]
  param @conv2.w: f32[32, 1, 3, 3]
  param @conv3.w: f32[32, 32, 3, 3]
  param @head.w: f32[10, 32]
  param @head.b: f32[10]
  conv1 = conv2d(x=x, w=@conv1.w) {pad: [1, 1, 1, 1]}
  bn1 = batch_norm(x=conv1, scale=@bn1.scale, bias=@bn1.bias, mean=@bn1.mean, variance=@bn1.variance)
  relu1 = relu(x=bn1)
  conv2 = conv2d(x=relu1, w=@conv2.w) {groups: 32, pad: [1, 1, 1, 1]}
  relu2 = relu6(x=conv2)
  pool = max_pool2d(x=relu2) {kernel: [2, 2], stride: [2, 2]}
  conv3 = conv2d(x=pool, w=@conv3.w) {pad: [1, 1, 1, 1]}
  shortcut = add(a=conv3, b=pool)
  mean = global_avg_pool(x=shortcut)
  flat = flatten(x=mean)
  head = linear(x=flat, w=@head.w, b=@head.b)
  loss = softmax_cross_entropy(logits=head, labels=labels)
  return loss, logits = head
})";

Model training_step() {
  Model model = model_of(kNetwork);
  for (auto& [name, tensor] : model.tensors) {
    for (float& value : tensor.data<float>()) value = name.ends_with("variance") ? 1.0f : value * 0.1f;
  }
  passes::set_mode(model.graph, passes::Mode::training);
  std::vector<std::string> parameters;
  for (const Value tensor : model.graph.tensors()) {
    if (tensor.role() == Role::parameter) parameters.push_back(tensor.name());
  }
  const passes::Gradients gradients = passes::autodiff(model, model.graph.value("loss"), parameters);
  passes::add_optimizer(model, gradients, {});
  return model;
}

std::map<std::string, Tensor> batch(const Model& model) {
  auto inputs = inputs_of(model);
  inputs.at(passes::kLearningRate) = Tensor::scalar(0.05f);
  auto labels = inputs.at("labels").data<int32_t>();
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i % 10);
  return inputs;
}

struct Trained {
  std::vector<float> losses;
  std::map<std::string, Tensor> tensors;
};

Trained train(const Model& model, const CompileOptions& options, int threads, int steps) {
  auto program = compile(model, options);
  ThreadPool pool(threads);
  const auto inputs = batch(model);
  Trained result;
  std::map<std::string, Tensor> outputs;
  for (int step = 0; step < steps; ++step) {
    program.run_into(inputs, outputs, pool);
    result.losses.push_back(outputs.at("loss").data<float>()[0]);
  }
  result.tensors = program.tensors();
  return result;
}

void expect_same(const Trained& found, const Trained& expected) {
  EXPECT_EQ(found.losses, expected.losses);
  ASSERT_EQ(found.tensors.size(), expected.tensors.size());
  for (const auto& [name, tensor] : expected.tensors) EXPECT_TRUE(found.tensors.at(name).same_bits(tensor)) << name;
}

TEST(Network, TrainsTheSameOnAnyNumberOfThreads) {
  const Model model = training_step();
  const Trained expected = train(model, {}, 1, 5);
  EXPECT_LT(expected.losses.back(), expected.losses.front());
  for (const int threads : {2, 4}) expect_same(train(model, {}, threads, 5), expected);
  CompileOptions no_reuse;
  no_reuse.disabled_passes = {"reuse_memory"};
  expect_same(train(model, no_reuse, 4, 5), expected);
}

TEST(Network, SharesMemory) {
  const auto program = compile(training_step(), {});
  EXPECT_LT(program.memory().planned, program.memory().naive * 3 / 4);
}

TEST(Network, TrainsOnSim) {
  const Model model = training_step();
  CompileOptions options;
  options.place = kSim;
  const Trained expected = train(model, {}, 1, 2), found = train(model, options, 2, 2);
  for (size_t i = 0; i < expected.losses.size(); ++i) EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-3);
}

}  // namespace
}  // namespace halfstep

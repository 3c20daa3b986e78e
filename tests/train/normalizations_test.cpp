// Batch norms folded into weights: training them, compared with the network that has them as operators.
#include <gtest/gtest.h>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/passes/canonical/fold_tails.h"
#include "halfstep/passes/quantized/normalizations.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/train/loop/joint_graph.h"

namespace halfstep::train {
namespace {

constexpr const char* kNetwork = R"(
graph norms(x: f32[4, 3, 6, 6]) {
  param @w: f32[4, 3, 3, 3]
  param @b: f32[4]
  param @v: f32[6, 2, 2, 2]
  param @g: f32[4]
  param @h: f32[4]
  state @m: f32[4]
  state @s: f32[4]
  param @k: f32[6]
  param @l: f32[6]
  state @n: f32[6]
  state @t: f32[6]
  c = conv2d(x, w=@w, b=@b) {pad: [1, 1, 1, 1]}
  norm = batch_norm(x=c, scale=@g, bias=@h, mean=@m, variance=@s) {epsilon: 0.01, momentum: 0.75}
  r = relu(norm)
  d = conv2d(r, w=@v) {groups: 2}
  last = batch_norm(x=d, scale=@k, bias=@l, mean=@n, variance=@t) {momentum: 0.5}
  return last
}
)";
const std::map<std::string, Dims> kExtents = {{"x", {4, 3, 6, 6}}};

Tensor drawn(const Dims& dims, uint64_t stream, double low, double high) {
  Random random(7, stream);
  Tensor tensor(DType::f32, dims);
  for (float& element : tensor.data<float>()) element = static_cast<float>(low + (high - low) * random.uniform());
  return tensor;
}

Model network() {
  Model model;
  model.graph = parse(kNetwork, "norms.ir");
  uint64_t stream = 0;
  for (const Value tensor : model.graph.tensors()) {
    const bool positive = tensor.name() == "s" || tensor.name() == "t";
    model.tensors[tensor.name()] = drawn(tensor.dims(), ++stream, positive ? 0.5 : -1, positive ? 2 : 1);
  }
  return model;
}

/// The network() with its normalizations folded into its weights.
Model kept(bool live, Model model = network()) {
  passes::set_mode(model.graph, passes::Mode::evaluation);
  std::vector<passes::FoldedNorm> norms;
  for (const passes::FoldedTail& tail : passes::fold_tails(model)) {
    if (tail.norm) norms.push_back(*tail.norm);
  }
  passes::keep_normalizations(model, norms, live);
  return model;
}

struct Step {
  Tensors outputs, tensors;  ///< outputs including gradients, and the tensors after the step
};

Step step_of(const Model& model, const std::vector<std::string>& wanted) {
  const JointGraph joint = joint_graph(model, kExtents, wanted);
  CompileOptions options;
  options.freeze_tensors = false;
  auto program = compile(joint.model, options);
  Tensors inputs = {{"x", drawn({4, 3, 6, 6}, 90, -2, 2)}};
  for (const auto& [output, seed] : joint.seeds) inputs[seed] = drawn({4, 6, 5, 5}, 91, -1, 1);
  ThreadPool pool(1);
  Step step{program.run(inputs, pool), program.tensors()};
  return step;
}

void expect_close(const Tensor& found, const Tensor& expected, const std::string& what) {
  const auto a = found.data<float>(), b = expected.data<float>();
  ASSERT_EQ(a.size(), b.size()) << what;
  float largest = 0;
  for (const float element : b) largest = std::max(largest, std::fabs(element));
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-5F * largest) << what << " " << i;
}

// A2.18
TEST(Normalizations, LiveOnesTrainAsTheOperatorDoes) {
  Model plain = network();
  passes::set_mode(plain.graph, passes::Mode::training);
  const Step expected = step_of(plain, {"w", "v", "g", "h", "k", "l"});
  const Step found = step_of(kept(true), {"w.raw", "v.raw", "g", "h", "k", "l"});
  expect_close(found.outputs.at("last"), expected.outputs.at("last"), "last");
  for (const std::string name : {"w", "v"})
    expect_close(found.outputs.at("gradient of " + name + ".raw"), expected.outputs.at("gradient of " + name), name);
  for (const std::string name : {"g", "h", "k", "l"})
    expect_close(found.outputs.at("gradient of " + name), expected.outputs.at("gradient of " + name), name);
  for (const char* name : {"m", "s", "n", "t"}) {
    expect_close(found.tensors.at(name), expected.tensors.at(name), name);
    EXPECT_FALSE(found.tensors.at(name).same_bits(network().tensors.at(name))) << name;
  }
}

/// A per-channel sum in front of a normalization is the bias of the layer. A product behind it belongs to the
/// parameters of the normalization.
TEST(Normalizations, LiveOnesAreFoundAmongOtherPartsOfATail) {
  Model plain;
  plain.graph = parse(R"(
graph tail(x: f32[4, 3, 6, 6]) {
  param @w: f32[6, 3, 2, 2]
  param @b: f32[1, 6, 1, 1]
  param @k: f32[6]
  param @l: f32[6]
  state @n: f32[6]
  state @t: f32[6]
  const @half: f32[1]
  c = conv2d(x, w=@w)
  d = add(a=c, b=@b)
  norm = batch_norm(x=d, scale=@k, bias=@l, mean=@n, variance=@t) {momentum: 0.5}
  last = mul(a=norm, b=@half)
  return last
}
)");
  uint64_t stream = 20;
  for (const Value tensor : plain.graph.tensors())
    plain.tensors[tensor.name()] = drawn(tensor.dims(), ++stream, tensor.name() == "t" ? 0.5 : -1, 2);
  plain.tensors["half"] = Tensor::scalar(0.5F);
  const Model tail = kept(true, clone(plain));
  ASSERT_EQ(tail.graph.ops().size(), 1U);
  passes::set_mode(plain.graph, passes::Mode::training);
  const Step expected = step_of(plain, {"w", "b"}), found = step_of(tail, {"w.raw", "c.b.raw"});
  expect_close(found.outputs.at("last"), expected.outputs.at("last"), "last");
  expect_close(found.outputs.at("gradient of w.raw"), expected.outputs.at("gradient of w"), "w");
  for (const char* name : {"n", "t"}) {
    expect_close(found.tensors.at(name), expected.tensors.at(name), name);
    EXPECT_FALSE(found.tensors.at(name).same_bits(plain.tensors.at(name))) << name;
  }
}

/// The sum of the outputs, each multiplied by its gradient in a step.
double seeded(const Model& model) {
  const Tensor output = step_of(model, {}).outputs.at("last"), seed = drawn({4, 6, 5, 5}, 91, -1, 1);
  double sum = 0;
  for (int64_t i = 0; i < output.size(); ++i)
    sum +=
        static_cast<double>(output.data<float>()[static_cast<size_t>(i)]) * seed.data<float>()[static_cast<size_t>(i)];
  return sum;
}

// A2.17
TEST(Normalizations, FrozenOnesAreTheNetworkInEvaluation) {
  Model plain = network();
  passes::set_mode(plain.graph, passes::Mode::evaluation);
  auto program = compile(specialize(plain, kExtents));
  ThreadPool pool(1);
  const std::vector<std::string> wanted = {"w.raw", "b.raw", "v.raw", "g", "h", "k", "l"};
  const Model model = kept(false);
  const Step found = step_of(model, wanted);
  expect_close(found.outputs.at("last"), program.run({{"x", drawn({4, 3, 6, 6}, 90, -2, 2)}}, pool).at("last"), "last");
  for (const std::string& name : wanted) {
    const float gradient = found.outputs.at("gradient of " + name).data<float>()[1];
    constexpr float kStep = 0x1p-7F;
    Model more = clone(model), less = clone(model);
    more.tensors.at(name).data<float>()[1] += kStep;
    less.tensors.at(name).data<float>()[1] -= kStep;
    EXPECT_NEAR(gradient, (seeded(more) - seeded(less)) / (2 * kStep), 0.02 * std::fabs(gradient) + 0.01) << name;
  }
  for (const char* name : {"m", "s", "n", "t"})
    EXPECT_TRUE(model.tensors.at(name).same_bits(network().tensors.at(name))) << name;
}

// A2.18
TEST(Normalizations, ClosedOnesAreThoseThatWereFolded) {
  Model folded = network(), closed = kept(true);
  passes::set_mode(folded.graph, passes::Mode::evaluation);
  for (const char* name : {"g", "s"}) {
    folded.tensors.at(name) = drawn({4}, 50, 0.5, 3);
    closed.tensors.at(name) = drawn({4}, 50, 0.5, 3);
  }
  passes::fold_tails(folded);
  passes::close_normalizations(closed);
  EXPECT_EQ(print(closed.graph), print(folded.graph));
  EXPECT_EQ(closed.metadata, folded.metadata);
  ASSERT_EQ(closed.tensors.size(), folded.tensors.size());
  for (const auto& [name, tensor] : folded.tensors) EXPECT_TRUE(closed.tensors.at(name).same_bits(tensor)) << name;
}

}  // namespace
}  // namespace halfstep::train

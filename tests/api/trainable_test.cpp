// Training a network in an external loop.
#include "halfstep/api/inputs/trainable.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "halfstep/api/errors.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/halfstep.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/train/loop/joint_graph.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep::api {
namespace {

constexpr int64_t kBatch = 8;

const Dataset& digits() {
  static const Dataset kDigits = data::digits();
  return kDigits;
}

Model network(uint64_t seed = 0) { return create_network("digits", digits(), seed); }

/// 4 bits: scales are learned. 8 bits: observers update them.
Model prepared(int bits) {
  return quantize(network(), quant::load_platform("generic_int8"), digits(), {.prepare = {bits, bits, {}}}, {}).model;
}

Tensors batch(int64_t begin = 0) { return parts_for(network(), digits()).train.inputs(begin, kBatch); }

std::vector<std::string> parameters(const Model& model) {
  std::vector<std::string> names;
  for (const Value tensor : model.graph.tensors()) {
    if (tensor.role() == Role::parameter) names.push_back(tensor.name());
  }
  return names;
}

/// The step with the loss in one graph that runs in one part: first the gradients of the outputs, then those of the
/// parameters.
Tensors in_one_graph(const Model& model, const Tensors& inputs, const std::vector<std::string>& wanted) {
  Model whole = train::differentiable_form(model, {{"x", inputs.at("x").dims()}});
  Graph& graph = whole.graph;
  const Value logits = graph.outputs().front();
  const std::string name = graph.body().output_names().front();
  const Value labels = passes::add_argument(graph, "labels", {DType::i32, {kBatch}});
  Builder builder(graph);
  const Value loss = ops::softmax_cross_entropy(builder, {.logits = logits, .labels = labels, .name = "loss"}).loss();
  std::vector<Value> values;
  std::vector<std::string> names;
  for (const auto& [of, gradient] : passes::autodiff(whole, loss, wanted).of) {
    values.push_back(gradient);
    names.push_back(of);
  }
  const Value seed = graph.value(logits.name() + ".grad");
  values.insert(values.end(), {seed, logits});
  names.insert(names.end(), {"seed of " + name, name});
  graph.set_outputs(values, names);
  CompileOptions options;
  options.freeze_tensors = false;
  ThreadPool pool(2);
  Tensors all = inputs;
  all.emplace("labels", Tensor(DType::i32, {kBatch}));
  return compile(whole, options).run(all, pool);
}

class Stages : public testing::TestWithParam<Stage> {
 protected:
  static Model model() { return GetParam() == Stage::float_network ? network() : prepared(4); }
};
INSTANTIATE_TEST_SUITE_P(All, Stages, testing::Values(Stage::float_network, Stage::prepared),
                         [](const auto& of) { return of.param == Stage::float_network ? "in_float" : "prepared"; });

TEST_P(Stages, GradientsAreThoseOfOneGraph) {
  const Model model = clone(Stages::model());
  const std::string output = model.graph.body().output_names().front();
  std::vector<std::string> wanted = parameters(model);
  const Tensors expected = in_one_graph(clone(model), batch(), wanted);

  Trainable trainable(model, 2);
  auto run = trainable.forward(batch(), wanted);
  EXPECT_TRUE(run.outputs().at(output).same_bits(expected.at(output)));
  const Tensors gradients = run.backward({{output, expected.at("seed of " + output)}});
  EXPECT_EQ(gradients.size(), wanted.size());
  for (const auto& [name, gradient] : gradients) {
    EXPECT_TRUE(gradient.same_bits(expected.at(name))) << name;
    EXPECT_TRUE(std::ranges::any_of(gradient.data<float>(), [](float g) { return g != 0; })) << name;
  }
}

TEST(Trainable, RunsMayOverlap) {
  Trainable trainable(network(), 2);
  const auto alone = [](int64_t begin) {
    Trainable own(network(), 1);
    auto run = own.forward(batch(begin), {"conv1.w"});
    return run.backward(run.outputs()).at("conv1.w");
  };
  auto first = trainable.forward(batch(0), {"conv1.w"});
  auto dropped = std::optional(trainable.forward(batch(kBatch), {"conv1.w"}));
  auto second = trainable.forward(batch(2 * kBatch), {"conv1.w"});
  dropped.reset();
  EXPECT_TRUE(second.backward(second.outputs()).at("conv1.w").same_bits(alone(2 * kBatch)));
  EXPECT_TRUE(first.backward(first.outputs()).at("conv1.w").same_bits(alone(0)));
  EXPECT_EQ(test::diagnostic_of([&] { first.backward(first.outputs()); }), errors::gradients_taken("digits"));
}

TEST(Trainable, ReadsParametersAndWritesStateInPlace) {
  const Model model = clone(prepared(8));
  const Tensors before = clone(model).tensors;
  Trainable trainable(model, 1);
  auto run = trainable.forward(batch(), parameters(model));
  int64_t moved = 0;
  for (const auto& [name, tensor] : model.tensors) moved += tensor.same_bits(before.at(name)) ? 0 : 1;
  EXPECT_GT(moved, 0) << "observers observe";

  const std::string output = run.outputs().begin()->first;
  const Tensor was = run.outputs().at(output).clone();
  Tensor weight = model.tensors.at("head.w");
  std::ranges::fill(weight.data<float>(), 0.0F);
  EXPECT_FALSE(trainable.forward(batch(), {}).outputs().at(output).same_bits(was));
}

TEST(Trainable, GradientsOfInputs) {
  Trainable trainable(network(), 1);
  auto run = trainable.forward(batch(), {"x"});
  const Tensors gradients = run.backward(run.outputs());
  ASSERT_EQ(gradients.size(), 1);
  EXPECT_EQ(gradients.at("x").type(), batch().at("x").type());
}

TEST(Trainable, MistakesAreNamed) {
  const Model model = network();
  Trainable trainable(model, 1);
  EXPECT_EQ(test::diagnostic_of([&] { trainable.forward({}, {}); }),
            errors::input_missing("inputs", "x", "f32[?, 1, 8, 8]", "network 'digits'", ""));
  const auto unknown = test::diagnostics_of([&] { trainable.forward(batch(), {"conv1.v"}); });
  for (const char* value : {"'conv1.v'", "'conv1.w'"}) EXPECT_TRUE(test::mentions(unknown, value)) << value;
  auto run = trainable.forward(batch(), parameters(model));
  EXPECT_EQ(test::kind_of([&] { run.backward({}); }), ErrorKind::bad_input);
  EXPECT_EQ(test::diagnostic_of([&] { Trainable(convert(prepared(8)).model); }),
            errors::wrong_stage("network 'digits'", "an integer program", "a prepared or float network",
                                "train its prepared network"));
}

TEST(Trainable, ScalesStayPositive) {
  const Model model = clone(prepared(4));
  const std::set<std::string> scales = train::learned_scales(model);
  ASSERT_FALSE(scales.empty());
  Tensor scale = model.tensors.at(*scales.begin());
  const float before = scale.data<float>()[0];
  Trainable trainable(model, 1);
  trainable.settle();
  scale.data<float>()[0] = -1.0F;
  trainable.forward(batch(), {});
  EXPECT_EQ(scale.data<float>()[0], before / 2);
  for (const float never : {-1.0F, 0.0F, std::nanf("")}) {
    scale.data<float>()[0] = never;
    EXPECT_EQ(test::diagnostic_of([&] { Trainable(model, 1).settle(); }),
              errors::learned_scale_not_positive(*scales.begin(), fmt::format("{}", never)));
  }
}

}  // namespace
}  // namespace halfstep::api

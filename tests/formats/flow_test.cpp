// Control flow in files of ONNX: what they may get wrong, and counts below zero.
#include <gtest/gtest.h>

#include "halfstep/base/parallel.h"
#include "halfstep/compile/compile.h"
#include "tests/formats/evaluate.h"
#include "tests/support/error.h"

namespace halfstep::formats::onnx {
namespace {

using halfstep::test::error_of;
using test::attribute;
using test::import_text;
using test::ModelText;
using test::Nodes;

constexpr int kFloat = 1, kWhole = 7, kBool = 9;

/// y = OP(x).
proto::Graph branch(const std::string& op, const std::string& x = "x",
                    std::vector<proto::NodeAttribute> attributes = {}) {
  proto::Graph graph;
  graph.set_name("branch");
  Nodes(graph.mutable_node()).add(op, {x}, {"made"}, std::move(attributes));
  graph.add_output()->set_name("made");
  return graph;
}

/// From a number, a condition and v to `condition` and what `nodes` make of v: "w".
proto::Graph body(const std::string& condition, const std::function<void(Nodes&)>& nodes) {
  proto::Graph graph;
  graph.set_name("body");
  test::set_type(*graph.add_input(), "i", kWhole, {});
  test::set_type(*graph.add_input(), "go", kBool, {});
  test::set_type(*graph.add_input(), "v", kFloat, {2});
  Nodes list(graph.mutable_node());
  nodes(list);
  graph.add_output()->set_name(condition);
  graph.add_output()->set_name("w");
  return graph;
}

/// x: f32[2], on: bool, n: i64; y comes out.
ModelText inputs() {
  ModelText text;
  text.input("x", {2});
  text.input("on", {}, kBool);
  text.input("n", {}, kWhole);
  text.output("y");
  return text;
}

void add_loop(ModelText& text, const proto::Graph& inner, const std::string& count = "n",
              const std::string& condition = "") {
  text.add("Loop", {count, condition, "x"}, {"y"}, {attribute("body", inner)}).set_name("loop");
}

std::string refusal(const ModelText& text) {
  return error_of([&] { import_text(text); });
}

const auto kDoubles = [](Nodes& nodes) {
  nodes.add("Identity", {"go"}, {"again"});
  nodes.add("Add", {"v", "v"}, {"w"});
};

TEST(OnnxFlow, BranchesGiveTheSameTypes) {
  ModelText text = inputs();
  text.add("If", {"on"}, {"y"},
           {attribute("then_branch", branch("Relu")),
            attribute("else_branch", branch("Cast", "x", {attribute("to", int64_t{kWhole})}))})
      .set_name("choice");
  EXPECT_EQ(refusal(text),
            "m.onnx:1: node 'choice.if': if: region else gives 'made.cast', i64[2], expected f32[2] as region then");
}

TEST(OnnxFlow, StatesKeepTheirTypes) {
  ModelText text = inputs();
  add_loop(text, body("go", [](Nodes& nodes) { nodes.add("Cast", {"v"}, {"w"}, {attribute("to", int64_t{kWhole})}); }));
  EXPECT_EQ(refusal(text),
            "m.onnx:1: node 'loop.while': while: state 'loop.while.in.2' is f32[2], and an iteration makes i64[2] of "
            "it ('w')");
}

TEST(OnnxFlow, ConditionsAreOneBool) {
  ModelText text = inputs();
  add_loop(text,
           body("more",
                [](Nodes& nodes) {
                  nodes.add("Greater", {"v", "v"}, {"more"});
                  nodes.add("Relu", {"v"}, {"w"});
                }),
           "n", "on");
  EXPECT_EQ(refusal(text), "m.onnx: node 'loop': Loop: found bool[2] as a condition or a count, expected one element");
  ModelText branches = inputs();
  branches.add("If", {"x"}, {"y"}, {attribute("then_branch", branch("Relu")), attribute("else_branch", branch("Relu"))})
      .set_name("choice");
  EXPECT_EQ(refusal(branches), "m.onnx:1: node 'choice.if': if type: cond is f32, expected bool");
}

TEST(OnnxFlow, ValuesOfAGraphInsideAreNotSeenOutside) {
  ModelText text = inputs();
  text.add("If", {"on"}, {"z"}, {attribute("then_branch", branch("Relu")), attribute("else_branch", branch("Relu"))});
  text.add("Relu", {"made"}, {"y"}).set_name("outside");
  EXPECT_EQ(refusal(text),
            "m.onnx: node 'outside': Relu: 'made' is read before any node gives it: the graph has a cycle, or its "
            "nodes are out of "
            "order");
}

TEST(OnnxFlow, TheFileSaysWhereInsideItIs) {
  ModelText text = inputs();
  add_loop(text, body("go", [&](Nodes& nodes) {
             nodes
                 .add("If", {"on"}, {"w"},
                      {attribute("then_branch", branch("Relu", "v")),
                       attribute("else_branch", branch("Cast", "v", {attribute("to", int64_t{kWhole})}))})
                 .set_name("branch");
           }));
  EXPECT_EQ(refusal(text),
            "m.onnx:1: while 'loop.while': node 'branch.if': if: region else gives 'made.cast', i64[2], expected "
            "f32[2] as region then");
}

Tensor number(int64_t value) { return Tensor::of<int64_t>(DType::i64, {}, {&value, 1}); }
Tensor truth(bool value) { return Tensor::of<bool>(DType::boolean, {}, {&value, 1}); }

Tensors run(const Model& model, int64_t count, bool on) {
  const std::vector<float> x = {1, -3};
  const Tensors all = {{"x", Tensor::of<float>(DType::f32, {2}, x)}, {"on", truth(on)}, {"n", number(count)}};
  Tensors inputs;
  for (const Value argument : model.graph.arguments()) inputs.emplace(argument.name(), all.at(argument.name()));
  ThreadPool pool(1);
  return compile(model, {}).run(inputs, pool);
}

/// As onnxruntime: no iteration.
TEST(OnnxFlow, CountsBelowZeroAreNone) {
  ModelText given = inputs();
  add_loop(given, body("again", kDoubles));
  for (const auto& [count, wanted] : {std::pair<int64_t, float>{-3, 1}, {0, 1}, {2, 4}})
    EXPECT_EQ(run(import_text(given), count, true).at("y").data<float>()[0], wanted) << count;
  for (const auto& [count, wanted] : {std::pair<int64_t, float>{-3, 1}, {INT64_MIN, 1}, {2, 4}}) {
    ModelText known = inputs();
    known.add_tensor(test::integers("count", {}, {count}));
    add_loop(known, body("again", kDoubles), "count");
    EXPECT_EQ(run(import_text(known), 0, true).at("y").data<float>()[0], wanted) << count;
  }
}

}  // namespace
}  // namespace halfstep::formats::onnx

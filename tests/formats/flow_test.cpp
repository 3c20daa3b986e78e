// Control flow in ONNX files: its import, mistakes in files, and negative counts.
#include <gtest/gtest.h>

#include "halfstep/core/ir/verify_graph.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx_export/onnx_writer.h"
#include "tests/formats/evaluate.h"
#include "tests/support/error.h"
#include "tests/support/scalars.h"

namespace halfstep::formats::onnx {
namespace {

using halfstep::test::diagnostic_of;
using halfstep::test::number;
using halfstep::test::truth;
using test::attribute;
using test::bound;
using test::import_text;
using test::ModelText;
using test::Nodes;
using test::operators;

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

ModelText branching() {
  ModelText text;
  text.input("x", {2});
  text.add("If", {"c"}, {"y"}, {attribute("then_branch", branch("Relu")), attribute("else_branch", branch("Sigmoid"))});
  text.output("y");
  return text;
}

TEST(OnnxFlow, BranchesThatAreKnownAreTaken) {
  for (const bool taken : {true, false}) {
    ModelText text = branching();
    text.add_tensor(test::integers("number", {}, {taken ? 1 : 0}));
    test::Nodes nodes(text.model.mutable_graph()->mutable_node());
    nodes.add("Cast", {"number"}, {"c"}, {attribute("to", int64_t{9})});
    text.model.mutable_graph()->mutable_node()->SwapElements(0, 1);
    EXPECT_EQ(operators(import_text(text)), taken ? "relu" : "sigmoid");
  }
}

TEST(OnnxFlow, BranchesAreRegionsWhereOnlyARunTells) {
  ModelText text = branching();
  text.input("c", {}, 9);
  const Model model = import_text(text);
  ASSERT_EQ(operators(model), "if");
  const Op made = model.graph.ops()[0];
  EXPECT_EQ(made.variadic(), std::vector<Value>{model.graph.value("x")});
  for (const size_t r : {0, 1}) EXPECT_EQ(made.regions()[r]->ops()[0].info().name, r == 0 ? "relu" : "sigmoid");
  const Tensor x(DType::f32, {2});
  EXPECT_EQ(operators(import_text(text, bound({{"c", truth(true)}, {"x", x}}))), "if");
}

/// x + 1 in each iteration, which is also a scan output.
proto::Graph loop_body() {
  proto::Graph body;
  test::set_type(*body.add_input(), "i", 7, {});
  test::set_type(*body.add_input(), "go", 9, {});
  test::set_type(*body.add_input(), "v", 1, {2});
  test::Nodes nodes(body.mutable_node());
  nodes.add("Identity", {"go"}, {"goes"});
  nodes.add("Add", {"v", "one"}, {"next"});
  for (const char* name : {"goes", "next", "next"})
    test::set_type(*body.add_output(), name, name[0] == 'g' ? 9 : 1, {});
  return body;
}

ModelText looping() {
  ModelText text;
  text.input("x", {2});
  text.add_tensor(test::floats("one", {1}, {1}));
  text.add("Loop", {"n", "", "x"}, {"last", "all"}, {attribute("body", loop_body())});
  text.output("last");
  text.output("all");
  return text;
}

TEST(OnnxFlow, LoopsThatAreKnownAreTheirIterations) {
  ModelText three = looping(), none = looping(), many = looping();
  three.add_tensor(test::integers("n", {}, {3}));
  none.add_tensor(test::integers("n", {}, {0}));
  many.add_tensor(test::integers("n", {}, {INT64_MAX}));
  const Model model = import_text(three);
  EXPECT_EQ(operators(model), "add reshape add reshape add reshape concat");
  EXPECT_EQ(model.graph.outputs()[1].dims(), (Dims{3, 2}));
  EXPECT_EQ(operators(import_text(none)), "");
  EXPECT_EQ(operators(import_text(many)), "while");
}

TEST(OnnxFlow, LoopsAreRegionsWhereOnlyARunTellsHowLong) {
  ModelText text = looping();
  text.input("n", {}, 7);
  const Tensor x(DType::f32, {2});
  for (const Model& model : {import_text(text), import_text(text, bound({{"n", number(3)}, {"x", x}}))}) {
    ASSERT_EQ(operators(model), "less while");
    EXPECT_EQ(to_string(model.graph.outputs()[0].type()), "f32[2]");
    EXPECT_EQ(to_string(model.graph.outputs()[1].type()), "f32[?, 2]");
    verify(model.graph);
  }
}

/// A loop body from a number, a condition and v to `condition` and "w". `nodes` computes "w" from v.
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

/// x: f32[2], on: bool, n: i64. The output is y.
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

Diagnostic refusal(const ModelText& text) {
  return diagnostic_of([&] { import_text(text); });
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
  EXPECT_EQ(refusal(text).kind(), ErrorKind::bad_input);
}

TEST(OnnxFlow, BranchesOfOtherAxesNeedInputs) {
  ModelText text = inputs();
  text.add("If", {"on"}, {"y"},
           {attribute("then_branch", branch("Relu")),
            attribute("else_branch", branch("ReduceSum", "x", {attribute("keepdims", int64_t{0})}))})
      .set_name("choice");
  EXPECT_EQ(refusal(text), errors::branches_differ("m.onnx: node 'choice': If", "f32[2]", "f32[]"));
  for (const bool taken : {true, false}) {
    const auto values = bound({{"on", truth(taken)}, {"x", Tensor(DType::f32, {2})}});
    EXPECT_EQ(operators(import_text(text, values)), taken ? "relu" : "reduce_sum");
  }
}

TEST(OnnxFlow, StatesKeepTheirTypes) {
  ModelText text = inputs();
  add_loop(text, body("go", [](Nodes& nodes) { nodes.add("Cast", {"v"}, {"w"}, {attribute("to", int64_t{kWhole})}); }));
  EXPECT_EQ(refusal(text).kind(), ErrorKind::bad_input);
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
  EXPECT_EQ(refusal(text),
            errors::input_not_one_element("m.onnx: node 'loop': Loop", "bool[2] as a condition or a count"));
  ModelText branches = inputs();
  branches.add("If", {"x"}, {"y"}, {attribute("then_branch", branch("Relu")), attribute("else_branch", branch("Relu"))})
      .set_name("choice");
  EXPECT_EQ(refusal(branches).kind(), ErrorKind::bad_input);
}

TEST(OnnxFlow, ValuesOfAGraphInsideAreNotSeenOutside) {
  ModelText text = inputs();
  text.add("If", {"on"}, {"z"}, {attribute("then_branch", branch("Relu")), attribute("else_branch", branch("Relu"))});
  text.add("Relu", {"made"}, {"y"}).set_name("outside");
  EXPECT_EQ(refusal(text), errors::value_read_before_made("m.onnx: node 'outside': Relu", "made"));
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
  EXPECT_NE(refusal(text).message().find("'branch"), std::string::npos);
}

/// `levels` nested branches and loops in turn, around y = relu(x). Each loop runs n iterations, and its last iteration
/// computes its result.
ModelText nested(int levels) {
  ModelText text = inputs();
  google::protobuf::RepeatedPtrField<proto::Node> inner;
  const auto value = [](int level) { return level == 0 ? std::string("y") : fmt::format("v{}", level); };
  Nodes(&inner).add("Relu", {"x"}, {value(levels)});
  for (int level = levels - 1; level >= 0; --level) {
    proto::Graph graph;
    graph.mutable_node()->Swap(&inner);
    if (level % 2 == 0) {
      graph.add_output()->set_name(value(level + 1));
      Nodes(&inner).add("If", {"on"}, {value(level)},
                        {attribute("then_branch", graph), attribute("else_branch", branch("Neg"))});
    } else {
      for (const auto& [name, type] : {std::pair("i", kWhole), {"go", kBool}, {"v", kFloat}})
        test::set_type(*graph.add_input(), fmt::format("{}.{}", name, level), type, type == kFloat ? Dims{2} : Dims());
      graph.add_output()->set_name(fmt::format("go.{}", level));
      graph.add_output()->set_name(value(level + 1));
      Nodes(&inner).add("Loop", {"n", "", "x"}, {value(level)}, {attribute("body", graph)});
    }
  }
  text.model.mutable_graph()->mutable_node()->Swap(&inner);
  return text;
}

Tensors run(const Model& model, int64_t count, bool on) {
  const std::vector<float> x = {1, -3};
  const Tensors all = {{"x", Tensor::of<float>(DType::f32, {2}, x)}, {"on", truth(on)}, {"n", number(count)}};
  Tensors inputs;
  for (const Value argument : model.graph.arguments()) inputs.emplace(argument.name(), all.at(argument.name()));
  ThreadPool pool(1);
  return compile(model, {}).run(inputs, pool);
}

TEST(OnnxFlow, AHundredLevelsGoInAndOut) {
  const Model model = import_text(nested(100));
  const std::vector<Op> all = model.graph.all_ops();
  EXPECT_EQ(std::ranges::count_if(all, [](Op op) { return !op.regions().empty(); }), 100);
  const std::string bytes = export_model(model, {}, "again.onnx.data").message;
  const Model again = parse(test::bytes_of(bytes), "again.onnx")->import(bound());
  for (const bool on : {true, false}) {
    const Tensor found = run(model, 1, on).at("y");
    EXPECT_EQ(found.data<float>()[0], on ? 1 : -1);
    EXPECT_TRUE(run(again, 1, on).at("y").same_bits(found));
  }
}

TEST(OnnxFlow, TwoHundredLevelsAreTooMany) {
  EXPECT_EQ(refusal(nested(200)).entry, &errors::graphs_inside_each_other_entry);
}

/// Like onnxruntime: no iteration.
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

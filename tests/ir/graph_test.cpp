#include "halfstep/core/ir/graph.h"

#include <cmath>

#include "halfstep/core/ir/text/print.h"
#include "halfstep/core/ir/verify_graph.h"
#include "tests/ir/ir_test.h"

namespace halfstep {
namespace {

const Type kMatrix{DType::f32, {kUnknown, 3}};
const Type kScale{DType::f32, {1}};

struct Fixture : testing::Test {
  Graph graph{"g"};
  Value x = graph.add_argument("x", kMatrix);

  Op relu(Value of, const std::string& name = {}) { return graph.insert(spec("relu", {of}, {}, name)); }
  Op observe(bool is_test) {
    const Value scale = graph.add_tensor("scale", kScale, Role::state);
    const Value iter = graph.add_tensor("iter", {DType::i64, {1}}, Role::state);
    return graph.insert(spec("observe", {x, scale, is_test ? Value() : iter}, {{"is_test", is_test}}, "obs"));
  }
};
using GraphTest = Fixture;

TEST_F(GraphTest, NamesOfOperationsAndValues) {
  const Op a = relu(x, "a");
  EXPECT_EQ(a.out(0).name(), "a");
  EXPECT_EQ(relu(x, "a").name(), "a.2");
  EXPECT_EQ(relu(x).name(), "relu");
  EXPECT_EQ(relu(x, "x").name(), "x.2") << "arguments share the names of values";
  const Op obs = observe(false);
  EXPECT_EQ(obs.out(1).name(), "obs.out_scale");
  EXPECT_EQ(relu(x, "obs.out_scale").name(), "obs.out_scale.2");
  EXPECT_EQ(graph.value("obs.out_scale"), obs.out(1));
  EXPECT_EQ(graph.op("a"), a);
  EXPECT_FALSE(graph.op("nothing"));
  EXPECT_EQ(graph.add_tensor("a", kScale, Role::constant).name(), "a") << "tensors have names of their own";
  EXPECT_EQ(diagnostic_of([&] { graph.add_tensor("a", kScale, Role::state); }),
            errors::tensor_declared_twice("g", "a"));
  EXPECT_EQ(diagnostic_of([&] { graph.add_argument("a", kScale); }), errors::name_taken("graph 'g'", "a"));
}

TEST_F(GraphTest, Rename) {
  const Op obs = observe(false);
  const Op a = relu(x, "a");
  graph.rename(obs, "q");
  EXPECT_EQ(graph.value("q.out_scale"), obs.out(1));
  EXPECT_FALSE(graph.value("obs"));
  EXPECT_EQ(diagnostic_of([&] { graph.rename(a, "q.out_scale"); }), errors::name_taken("node 'a'", "q.out_scale"));
  graph.rename(a, "a");
  EXPECT_EQ(graph.op("a"), a);
  EXPECT_EQ(diagnostic_of([&] { graph.rename(x, "a"); }), errors::name_taken("graph 'g': argument 'x'", "a"));
  graph.rename(x, "z");
  EXPECT_EQ(graph.value("z"), x);
  EXPECT_FALSE(graph.value("x"));
}

TEST_F(GraphTest, UsesFollowEdits) {
  const Op a = relu(x, "a");
  const Op b = relu(a.out(0), "b");
  graph.set_outputs({a.out(0), b.out(0)});
  EXPECT_EQ(a.out(0).uses().size(), 2u);
  EXPECT_EQ(a.out(0).uses()[1].first.info().name, "return");
  a.out(0).replace_all_uses_with(x);
  EXPECT_TRUE(a.out(0).unused());
  EXPECT_EQ(graph.outputs()[0], x);
  EXPECT_EQ(graph.body().output_names()[0], "a") << "an output's name is its own";
  graph.erase(a);
  EXPECT_FALSE(graph.value("a"));
  EXPECT_EQ(diagnostic_of([&] { graph.erase(b); }), errors::value_in_use("node 'b'", "node 'return'"));
  verify(graph);
}

TEST_F(GraphTest, InsertBeforeAndBuilder) {
  const Op b = relu(x, "b");
  const Op a = Builder::before(graph, b).at({"net.py", 3}).insert(spec("relu", {x}, {}, "a"));
  EXPECT_EQ(graph.ops()[0], a);
  EXPECT_EQ(a.where(), "net.py:3: node 'a'");
  b.set_operand(0, a.out(0));
  EXPECT_TRUE(a.out(0).has_one_use());
  verify(graph);
}

TEST_F(GraphTest, RulesOfInputs) {
  const Value w = graph.add_tensor("w", {DType::f32, {2, 4}}, Role::parameter);
  EXPECT_EQ(diagnostic_of([&] { graph.insert(spec("linear", {x})); }),
            errors::operand_missing("node 'linear'", "linear", "w"));
  EXPECT_EQ(diagnostic_of([&] {
              graph.insert(spec("linear", {x, w}));
            }),
            errors::operator_rule("node 'linear'", "linear", "c1", "k = 3, i = 4", "k == i"));
  EXPECT_EQ(diagnostic_of([&] {
              graph.insert(spec("relu", {x, x}));
            }),
            errors::operand_count("node 'relu'", "relu", 2, "at most 1"));
  EXPECT_EQ(diagnostic_of([&] {
              graph.insert(spec("concat", {}, {{"axis", int64_t{0}}}));
            }),
            errors::operand_missing("node 'concat'", "concat", "x"));
  EXPECT_EQ(diagnostic_of([&] {
              graph.insert(spec("concat", {x, Value()}, {{"axis", int64_t{0}}}));
            }),
            errors::operand_missing("node 'concat'", "concat", "x"));
  EXPECT_TRUE(graph.ops().empty()) << "a refused operation leaves nothing behind";
  EXPECT_TRUE(x.unused());
}

TEST_F(GraphTest, VariadicOperands) {
  const Op cat = graph.insert(spec("concat", {x, x}, {{"axis", int64_t{1}}}));
  EXPECT_EQ(cat.variadic().size(), 2u);
  EXPECT_EQ(cat.port_of(1), 0);
  EXPECT_EQ(to_string(cat.out(0).type()), "f32[?, 6]");
}

TEST_F(GraphTest, PresenceFollowsAttributes) {
  const Value scale = graph.add_tensor("scale", kScale, Role::state);
  EXPECT_EQ(diagnostic_of([&] {
              graph.insert(spec("observe", {x, scale, scale}, {{"is_test", true}}, "o"));
            }),
            errors::input_not_taken("node 'o'", "observe", "iter", " when is_test is true", "'scale'"));
  EXPECT_EQ(diagnostic_of([&] {
              graph.insert(spec("observe", {x, scale}, {}, "o"));
            }),
            errors::operand_missing("node 'o'", "observe", "iter"));
  const Op obs = graph.insert(spec("observe", {x, scale}, {{"is_test", true}}, "o"));
  EXPECT_FALSE(obs.out(1));
  EXPECT_EQ(obs.results().size(), 1u);
  EXPECT_EQ(obs.info().absent_output_reason(1, obs.attributes()), " when is_test is true");
}

TEST_F(GraphTest, SetAttributesMakesAndDropsResults) {
  const Op obs = observe(false);
  const Op reader = relu(obs.out(1), "reader");
  EXPECT_EQ(diagnostic_of([&] {
              obs.set_attributes({{"is_test", true}});
            }),
            errors::output_is_read("node 'obs'", "observe", "out_scale", " when is_test is true", "node 'reader'"));
  graph.erase(reader);
  EXPECT_EQ(diagnostic_of([&] {
              obs.set_attributes({{"is_test", true}});
            }),
            errors::input_not_taken("node 'obs'", "observe", "iter", " when is_test is true", "'iter'"));
  EXPECT_TRUE(obs.out(1)) << "a refused change changes nothing";
  const Value iter = obs.in(2);
  obs.set_operand(2, Value());
  obs.set_attributes({{"is_test", true}});
  EXPECT_FALSE(graph.value("obs.out_scale"));
  relu(x, "obs.out_scale");
  obs.set_operand(2, iter);
  EXPECT_EQ(diagnostic_of([&] {
              obs.set_attributes({{"is_test", false}});
            }),
            errors::name_taken("node 'obs'", "obs.out_scale"));
  graph.erase(graph.op("obs.out_scale"));
  obs.set_attributes({{"is_test", false}});
  EXPECT_EQ(graph.value("obs.out_scale"), obs.out(1));
  verify(graph);
}

TEST_F(GraphTest, StatePairHasOneType) {
  const Op obs = observe(false);
  EXPECT_EQ(diagnostic_of([&] {
              obs.set_attributes({{"scales", int64_t{2}}});
            }),
            errors::state_type("node 'obs'", "observe", "out_scale", "f32[2]", "f32[1]", "in_scale"));
  EXPECT_EQ(get<int64_t>(obs.attributes(), "scales"), 1);
}

TEST_F(GraphTest, InferFollowsTypes) {
  const Op a = relu(x, "a");
  graph.set_type(x, {DType::f64, {2, 3}});
  a.infer();
  EXPECT_EQ(to_string(a.out(0).type()), "f64[2, 3]");
  graph.set_type(x, {DType::i8, {2, 3}});
  EXPECT_EQ(diagnostic_of([&] { a.infer(); }), errors::operand_dtype("node 'a'", "relu", "x", "i8", "float"));
}

TEST_F(GraphTest, OutputNamesAreUnique) {
  EXPECT_EQ(diagnostic_of([&] { graph.set_outputs({x, x}); }), errors::output_named_twice("g", "x"));
  graph.set_outputs({x, x}, {"x", "again"});
  EXPECT_EQ(graph.body().output_names()[1], "again");
  EXPECT_EQ(x.uses().size(), 2u);
  EXPECT_EQ(relu(x, "again").name(), "again.2") << "a run that is asked for a value by name has one answer";
  EXPECT_EQ(graph.unique_name("again"), "again.3");
}

TEST_F(GraphTest, EraseTakesRegionsAlong) {
  const Op branch = graph.insert(spec("if", {x}, {}, "r"));
  for (int i = 0; i < 2; ++i) {
    Block& region = graph.add_region(branch);
    const Value v = region.add_argument(i == 0 ? "v" : "u", kMatrix);
    const Op inner = graph.insert(spec("relu", {v}, {}, "inner"), &region);
    region.set_outputs({inner.out(0), v});
  }
  verify(graph);
  EXPECT_EQ(x.uses().size(), 1u);
  graph.erase(branch);
  EXPECT_TRUE(x.unused());
  for (const char* name : {"v", "u", "inner", "inner.2", "r"}) EXPECT_FALSE(graph.value(name)) << name;
  verify(graph);
}

TEST_F(GraphTest, EraseTensor) {
  const Value w = graph.add_tensor("w", kMatrix, Role::parameter);
  const Op a = relu(w, "a");
  EXPECT_EQ(diagnostic_of([&] { graph.erase_tensor("w"); }), errors::value_in_use("graph 'g': tensor 'w'", "node 'a'"));
  graph.erase(a);
  graph.erase_tensor("w");
  EXPECT_FALSE(graph.tensor("w"));
}

TEST_F(GraphTest, MoveKeepsHandles) {
  const Op a = relu(x, "a");
  Graph moved = std::move(graph);
  EXPECT_EQ(moved.op("a"), a);
  EXPECT_EQ(&a.node()->block->graph(), &moved);
  moved.insert(spec("relu", {x}));
  verify(moved);
  graph = std::move(moved);
  verify(graph);
}

TEST(GraphCopy, IsDeepAndEqual) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = random_graph(seed);
    Graph copy = graph;
    EXPECT_TRUE(copy == graph);
    verify(copy);
    EXPECT_EQ(print(copy, {.locations = true}), print(graph, {.locations = true}));
    copy.add_argument("further", kScale);
    EXPECT_FALSE(copy == graph);
  }
}

TEST(GraphEqual, SeesEveryDifference) {
  const auto make = [](const std::function<void(Graph&, Op)>& change) {
    Graph graph("g");
    const Value x = graph.add_argument("x", kMatrix);
    graph.add_tensor("w", kScale, Role::state);
    const Op op = graph.insert(spec("settings", {x}, {{"ratio", std::nan("")}}, "s"));
    graph.set_outputs({op.out(0)});
    change(graph, op);
    return graph;
  };
  const Graph plain = make([](Graph&, Op) {});
  EXPECT_TRUE(plain == make([](Graph&, Op op) { op.node()->location = {"other.py", 1}; })) << "locations do not count";
  EXPECT_FALSE(plain == make([](Graph& g, Op) { g.set_name("h"); }));
  EXPECT_FALSE(plain == make([](Graph& g, Op op) { g.rename(op, "t"); }));
  EXPECT_FALSE(plain == make([](Graph&, Op op) { op.set_attributes({{"ratio", 0.0}}); }));
  EXPECT_FALSE(plain == make([](Graph& g, Op) { g.set_type(g.arguments()[0], kScale); }));
  EXPECT_FALSE(plain == make([](Graph& g, Op) { g.add_tensor("v", kScale, Role::state); }));
  EXPECT_FALSE(plain == make([](Graph& g, Op op) { g.set_outputs({op.out(0)}, {"y"}); }));
  EXPECT_FALSE(plain == make([](Graph& g, Op) { g.insert(spec("relu", g.arguments())); }));
  EXPECT_FALSE(plain == make([](Graph& g, Op) {
                 g.erase_tensor("w");
                 g.add_tensor("w", kScale, Role::parameter);
               }));
}

}  // namespace
}  // namespace halfstep

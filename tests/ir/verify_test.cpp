#include "halfstep/core/ir/verify_graph.h"

#include "halfstep/core/ir/text/parse.h"
#include "tests/ir/ir_test.h"

namespace halfstep {
namespace {

constexpr const char* kText = R"(graph g(x: f32[2, 3]) {
  state @scale: f32[1]
  state @iter: i64[1]
  a = relu(x)
  obs = observe(x=a, in_scale=@scale, iter=@iter)
  r = if(cond=obs) region then(v: f32[1]) { b = relu(v) return b } region else(u: f32[1]) { return u }
  return r, obs.out_scale
}
)";

/// The error of the graph above after `damage`, which is inserted behind the graph's own functions.
Diagnostic error_after(const std::function<void(Graph&)>& damage) {
  Graph graph = parse(kText, "t.ir");
  verify(graph);
  damage(graph);
  return diagnostic_of([&] { verify(graph); });
}

detail::OpNode& node(Graph& graph, const char* name) { return *graph.op(name).node(); }

TEST(Verify, FindsWrongTypes) {
  EXPECT_EQ(error_after([](Graph& g) {
              node(g, "a").results[0]->type.dims = {2, 4};
            }),
            errors::graph_outputs("t.ir:4: node 'a'", "output 'out' of type f32[2, 4]", "f32[2, 3]"));
  EXPECT_EQ(error_after([](Graph& g) {
              g.set_type(g.arguments()[0], {DType::i8, {1}});
            }),
            errors::operand_dtype("t.ir:4: node 'a'", "relu", "x", "i8", "float"));
  EXPECT_EQ(error_after([](Graph& g) {
              g.set_type(g.tensor("scale"), {DType::f32, {2}});
            }),
            errors::state_type("t.ir:5: node 'obs'", "observe", "out_scale", "f32[1]", "f32[2]", "in_scale"));
  EXPECT_EQ(error_after([](Graph& g) {
              g.set_type(g.tensor("iter"), {DType::f32, {-5}});
            }),
            errors::negative_extent("graph 'g'", "iter", "f32[-5]"));
}

TEST(Verify, FindsWrongPresence) {
  EXPECT_EQ(error_after([](Graph& g) { g.op("obs").set_operand(2, Value()); }),
            errors::operand_missing("t.ir:5: node 'obs'", "observe", "iter"));
  EXPECT_EQ(error_after([](Graph& g) { node(g, "obs").attributes["is_test"] = true; }),
            errors::input_not_taken("t.ir:5: node 'obs'", "observe", "iter", " when is_test is true", "'iter'"));
  EXPECT_EQ(error_after([](Graph& g) {
              g.op("obs").set_operand(2, Value());
              node(g, "obs").attributes["is_test"] = true;
            }),
            errors::graph_outputs("t.ir:5: node 'obs'", "an output 'out_scale'", "none"));
}

TEST(Verify, FindsWrongAttributes) {
  EXPECT_EQ(error_after([](Graph& g) { node(g, "obs").attributes.erase("momentum"); }),
            errors::graph_attributes("t.ir:5: node 'obs'", "observe", 2, 3));
  EXPECT_EQ(error_after([](Graph& g) { node(g, "obs").attributes["moment"] = 0.5; }),
            errors::attribute_unknown("t.ir:5: node 'obs'", "observe", "moment", ", did you mean 'momentum'?"));
}

TEST(Verify, FindsUseBeforeDefinition) {
  EXPECT_EQ(error_after([](Graph& g) { g.op("a").set_operand(0, g.value("obs")); }),
            errors::value_not_defined("t.ir:4: node 'a'", "obs"));
  EXPECT_EQ(error_after([](Graph& g) { g.op("a").set_operand(0, g.value("a")); }),
            errors::value_not_defined("t.ir:4: node 'a'", "a"));
  EXPECT_EQ(error_after([](Graph& g) { g.set_outputs({g.value("b")}); }),
            errors::value_not_defined("graph 'g': return", "b"));
  EXPECT_EQ(error_after([](Graph& g) { g.op("r").regions()[1]->set_outputs({g.value("v")}); }),
            errors::value_not_defined("t.ir:6: node 'r': return", "v"));
  EXPECT_EQ(error_after([](Graph& g) { g.op("b").set_operand(0, g.value("x")); }),
            errors::value_not_defined("t.ir:6: if 'r': node 'b'", "x"));
}

TEST(Verify, FindsWrongNames) {
  EXPECT_EQ(error_after([](Graph& g) { node(g, "a").name = "obs"; }),
            errors::graph_names("t.ir:4: node 'obs'", "the name 'obs'", "the name of one operation"));
  EXPECT_EQ(error_after([](Graph& g) { node(g, "a").results[0]->name = "q"; }),
            errors::graph_outputs("t.ir:4: node 'a'", "value 'q' as output 'out'", "its own value"));
  EXPECT_EQ(error_after([](Graph& g) { g.value("v").node()->name = "x"; }),
            errors::graph_names("t.ir:6: node 'r'", "the name 'x'", "the name of one value"));
  EXPECT_EQ(error_after([](Graph& g) { g.set_name(""); }), errors::graph_names("graph ''", "an empty name", "a name"));
}

TEST(Verify, FindsDanglingNodes) {
  EXPECT_EQ(error_after([](Graph& g) { g.tensor("scale").node()->uses.clear(); }),
            errors::graph_uses("graph 'g'", "scale", "0 uses", 1));
  EXPECT_EQ(error_after([](Graph& g) { node(g, "a").operands[0] = g.tensor("scale").node(); }),
            errors::graph_outputs("t.ir:4: node 'a'", "output 'out' of type f32[2, 3]", "f32[1]"));
  EXPECT_EQ(error_after([](Graph& g) {
              static detail::OpNode stranger;
              g.value("a").node()->uses.push_back({&stranger, 0});
            }),
            errors::graph_uses("graph 'g'", "a", "a use by an operation that is not in it", "its own"));
  EXPECT_EQ(error_after([](Graph& g) {
              g.value("a").node()->uses.push_back({&node(g, "a"), 0});
            }),
            errors::graph_uses("t.ir:4: node 'a'", "a", "a use of another value", "its own"));
}

TEST(Verify, FindsOperationsInTwoBlocks) {
  EXPECT_EQ(error_after([](Graph& g) { node(g, "b").block = &g.body(); }),
            errors::graph_blocks("t.ir:6: node 'b'", "an operation of another block", "its own"));
}

TEST(Verify, FindsMissingRegions) {
  EXPECT_EQ(error_after([](Graph& g) { g.set_outputs({}), g.insert(spec("if", {g.value("a")}, {}, "q")); }),
            errors::region_count("node 'q'", "if", 0, 2));
}

}  // namespace
}  // namespace halfstep

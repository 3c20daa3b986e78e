#include "halfstep/core/ir/verify.h"

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

/// The message for the graph above after `damage`, which goes behind the graph's own functions.
std::string error_after(const std::function<void(Graph&)>& damage) {
  Graph graph = parse(kText, "t.ir");
  verify(graph);
  damage(graph);
  return error_of([&] { verify(graph); });
}

detail::OpNode& node(Graph& graph, const char* name) { return *graph.op(name).node(); }

TEST(Verify, FindsWrongTypes) {
  EXPECT_EQ(error_after([](Graph& g) {
              node(g, "a").results[0]->type.dims = {2, 4};
            }),
            "t.ir:4: node 'a': output 'out' has type f32[2, 4], expected f32[2, 3]");
  EXPECT_EQ(error_after([](Graph& g) {
              g.set_type(g.arguments()[0], {DType::i8, {1}});
            }),
            "t.ir:4: node 'a': relu type: x is i8, expected float");
  EXPECT_EQ(error_after([](Graph& g) {
              g.set_type(g.tensor("scale"), {DType::f32, {2}});
            }),
            "t.ir:5: node 'obs': observe type: state 'out_scale' is f32[1], expected f32[2] as 'in_scale'");
  EXPECT_EQ(error_after([](Graph& g) {
              g.set_type(g.tensor("iter"), {DType::f32, {-5}});
            }),
            "graph 'g': 'iter' has type f32[-5], expected no negative extent");
}

TEST(Verify, FindsWrongPresence) {
  EXPECT_EQ(error_after([](Graph& g) { g.op("obs").set_operand(2, Value()); }),
            "t.ir:5: node 'obs': observe: input 'iter' is missing");
  EXPECT_EQ(error_after([](Graph& g) { node(g, "obs").attributes["is_test"] = true; }),
            "t.ir:5: node 'obs': observe: input 'iter' is not taken when is_test is true, found 'iter'");
  EXPECT_EQ(error_after([](Graph& g) {
              g.op("obs").set_operand(2, Value());
              node(g, "obs").attributes["is_test"] = true;
            }),
            "t.ir:5: node 'obs': output 'out_scale' is present, expected the opposite");
}

TEST(Verify, FindsWrongAttributes) {
  EXPECT_EQ(error_after([](Graph& g) { node(g, "obs").attributes.erase("momentum"); }),
            "t.ir:5: node 'obs': observe: found 2 attributes, expected all 3");
  EXPECT_EQ(error_after([](Graph& g) { node(g, "obs").attributes["moment"] = 0.5; }),
            "t.ir:5: node 'obs': observe has no attribute 'moment', did you mean 'momentum'?");
}

TEST(Verify, FindsUseBeforeDefinition) {
  EXPECT_EQ(error_after([](Graph& g) { g.op("a").set_operand(0, g.value("obs")); }),
            "t.ir:4: node 'a': found 'obs', expected a value that is defined before");
  EXPECT_EQ(error_after([](Graph& g) { g.op("a").set_operand(0, g.value("a")); }),
            "t.ir:4: node 'a': found 'a', expected a value that is defined before");
  EXPECT_EQ(error_after([](Graph& g) { g.set_outputs({g.value("b")}); }),
            "graph 'g': return: found 'b', expected a value that is defined before");
  EXPECT_EQ(error_after([](Graph& g) { g.op("r").regions()[1]->set_outputs({g.value("v")}); }),
            "t.ir:6: node 'r': return: found 'v', expected a value that is defined before");
  EXPECT_EQ(error_after([](Graph& g) { g.op("b").set_operand(0, g.value("x")); }),
            "t.ir:6: if 'r': node 'b': found 'x', expected a value that is defined before");
}

TEST(Verify, FindsWrongNames) {
  EXPECT_EQ(error_after([](Graph& g) { node(g, "a").name = "obs"; }),
            "t.ir:4: node 'obs': the name is not that of one operation");
  EXPECT_EQ(error_after([](Graph& g) { node(g, "a").results[0]->name = "q"; }),
            "t.ir:4: node 'a': output 'out' is not connected to its value 'q'");
  EXPECT_EQ(error_after([](Graph& g) { g.value("v").node()->name = "x"; }),
            "t.ir:6: node 'r': the name 'x' is not that of one value");
  EXPECT_EQ(error_after([](Graph& g) { g.set_name(""); }), "graph '': the name is empty");
}

TEST(Verify, FindsDanglingNodes) {
  EXPECT_EQ(error_after([](Graph& g) { g.tensor("scale").node()->uses.clear(); }),
            "graph 'g': 'scale' lists 0 uses, expected 1");
  EXPECT_EQ(error_after([](Graph& g) { node(g, "a").operands[0] = g.tensor("scale").node(); }),
            "t.ir:4: node 'a': output 'out' has type f32[2, 3], expected f32[1]");
  EXPECT_EQ(error_after([](Graph& g) {
              static detail::OpNode stranger;
              g.value("a").node()->uses.push_back({&stranger, 0});
            }),
            "graph 'g': 'a' is used by an operation that is not in it");
  EXPECT_EQ(error_after([](Graph& g) {
              g.value("a").node()->uses.push_back({&node(g, "a"), 0});
            }),
            "t.ir:4: node 'a': 'a' lists a use that is another's");
}

TEST(Verify, FindsMissingRegions) {
  EXPECT_EQ(error_after([](Graph& g) { g.set_outputs({}), g.insert(spec("if", {g.value("a")}, {}, "q")); }),
            "node 'q': if: found 0 regions, expected 2");
}

}  // namespace
}  // namespace halfstep

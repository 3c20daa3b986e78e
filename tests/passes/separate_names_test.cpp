#include "halfstep/passes/graph/separate_names.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/metadata/given_names.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"

namespace halfstep::passes {
namespace {

std::vector<std::string> operations_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op op : graph.ops()) names.push_back(op.name());
  return names;
}

TEST(SeparateNames, NothingOfTheNetworkLiesBelowAnother) {
  Model model;
  model.graph = parse(
      "graph g(x: f32[2], c.shift: f32[2]) {\n"
      "  param @w: f32[2]\n"
      "  c = relu(x=x)\n"
      "  c.acc = relu(x=c)\n"
      "  x.q.real = relu(x=c.acc)\n"
      "  x_q = relu(x=x.q.real)\n"
      "  x.q = relu(x=x_q)\n"
      "  w.step = add(a=x.q, b=@w)\n"
      "  a.b = add(a=w.step, b=c.shift)\n"
      "  return y.q.real = a.b\n"
      "}\n");
  Graph& graph = model.graph;
  add_given_name(model.metadata.given_names, "c", "theirs");
  add_given_name(model.metadata.given_names, "a.b", "kept");
  separate_names(model);
  EXPECT_EQ(operations_of(graph),
            (std::vector<std::string>{"c_", "c_acc", "x_q_real", "x_q", "x_q_", "w_step", "a.b"}));
  EXPECT_EQ(graph.body().output_names(), std::vector<std::string>{"y.q.real"});
  EXPECT_EQ(model.metadata.given_names, (std::map<std::string, std::string>{{"c_", "theirs"}, {"a.b", "kept"}}));
  const std::string once = print(graph);
  separate_names(model);
  EXPECT_EQ(print(graph), once);
}

/// Names with digits, layers and dots stay as long as no other name is a prefix up to a dot.
TEST(SeparateNames, OtherNamesStay) {
  const std::string text =
      "graph g(x: f32[2]) {\n"
      "  param @layer1.0.w: f32[2]\n"
      "  layer1.0.relu = relu(x=x)\n"
      "  /a/b.c = relu(x=layer1.0.relu)\n"
      "  layer10 = add(a=/a/b.c, b=@layer1.0.w)\n"
      "  return layer10\n"
      "}\n";
  Model model;
  model.graph = parse(text);
  Graph& graph = model.graph;
  const std::string before = print(graph);
  separate_names(model);
  EXPECT_EQ(print(graph), before);
}

}  // namespace
}  // namespace halfstep::passes

// Questions about operations and values.
#include "halfstep/passes/graph/uses.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"
#include "tests/support/error.h"

namespace halfstep::passes {
namespace {

constexpr const char* kText = R"(graph g(x: f32[4]) {
  state @s: f32[1]
  state @a: f32[1]
  state @t: f32[1]
  q = fake_quantize_dequantize_moving_average_abs_max(x, in_scale=@s, in_accum=@a, in_state=@t)
  r = relu(q)
  return r
})";

TEST(Uses, StateIsUpdatedByWhatGivesItsNextValue) {
  const Graph graph = parse(kText);
  EXPECT_TRUE(updates_state(graph.op("q")));
  EXPECT_FALSE(updates_state(graph.op("r")));
  EXPECT_EQ(updater_of(graph.tensor("s")), graph.op("q"));
  EXPECT_TRUE(is_output(graph.value("r")));
  EXPECT_FALSE(is_output(graph.value("q")));
}

TEST(Uses, WhatStandsForAValueHasItsExtents) {
  const Graph graph = parse(kText);
  const Value x = graph.value("x"), s = graph.tensor("s");
  expect_extents(*x.node(), graph.value("r"));
  EXPECT_EQ(test::error_of([&] { expect_extents(*x.node(), s); }),
            "this is a bug: 'x' is f32[4], and 's', which stands for it, is f32[1]");
  EXPECT_EQ(test::kind_of([&] { expect_extents(*x.node(), s); }), ErrorKind::internal);
}

}  // namespace
}  // namespace halfstep::passes

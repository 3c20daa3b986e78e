// Questions about operations and values.
#include "halfstep/passes/graph/uses.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/passes/canonical/errors.h"
#include "halfstep/passes/canonical/pattern_text.h"
#include "halfstep/passes/graph/errors.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/quantized/coded_form.h"
#include "halfstep/passes/quantized/errors.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/normalizations.h"
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
  EXPECT_EQ(test::name_of([&] { expect_extents(*x.node(), s); }), "defect");
  EXPECT_EQ(test::kind_of([&] { expect_extents(*x.node(), s); }), ErrorKind::internal);
}

TEST(Tensors, ContentsAreThoseOfTensors) {
  Model model;
  model.graph = parse(kText);
  EXPECT_EQ(test::diagnostic_of([&] { contents_of(model, model.graph.value("r")); }),
            errors::contents_of_computed_value(model.graph.name(), "r"));
}

TEST(Patterns, MistakesHaveALine) {
  EXPECT_EQ(test::diagnostic_of([] { parse_patterns("x + 1 => mul(x)\nx = y", "p.txt"); }),
            errors::pattern_syntax("p.txt:2", "= y", "'=>'"));
}

/// The coded form of a layer gets its attributes, operands and extents.
TEST(CodedForms, RefuseWhatTheyLack) {
  const Graph graph = parse("graph g(x: f32[2, 4]) { y = relu(x=x) return y }");
  EXPECT_EQ(test::diagnostic_of([&] {
              arrange_operands(ops::QuantizedLinear::record(), {{"nothing", graph.value("x")}}, "g.ir:1: node 'y'");
            }),
            errors::code_form_lacks_member("g.ir:1: node 'y'", "quantized_linear", "input 'nothing'", "layer"));
  const Graph norm =
      parse("graph g(x: f32[2, 4], s: f32[4]) { y = layer_norm(x=x, scale=s) {with_statistics: true} return y }");
  EXPECT_EQ(test::name_of([&] { require_coded_form(norm.op("y"), {}); }), "code_form_refused");
}

TEST(LearnedQuantizers, NeedObserversAndWeightsOfTheirOwn) {
  Model model;
  model.graph = parse(R"(graph g(x: f32[4]) {
  state @s: f32[1]
  state @z: i32[1]
  param @w: f32[4]
  q = fake_quantize(x, scale=@s, zero_point=@z)
  a = fake_quantize(@w, scale=@s, zero_point=@z)
  b = fake_quantize(@w, scale=@s, zero_point=@z)
  return q, a, b
})");
  for (const Value tensor : model.graph.tensors()) model.tensors[tensor.name()] = Tensor(tensor.dtype(), tensor.dims());
  const auto keep = [&](const char* node, QuantizerKind kind) {
    keep_quantizer(model, ops::FakeQuantize(model.graph.op(node).node()), kind, 0);
  };
  EXPECT_EQ(test::diagnostic_of([&] { keep("q", QuantizerKind::pact); }),
            errors::scale_without_observer(model.graph.name(), "s"));
  keep("a", QuantizerKind::adaround);
  EXPECT_EQ(test::diagnostic_of([&] { keep("b", QuantizerKind::adaround); }), errors::shared_weight_rounded_twice("w"));
}

TEST(Normalizations, NeedTheirLayer) {
  Model model;
  model.graph = parse("graph g(x: f32[4]) { param @t: f32[4] y = add(a=x, b=@t) return y }");
  model.tensors["t"] = Tensor(DType::f32, {4});
  model.metadata.normalizations = {{.layer = "conv",
                                    .weight = "t",
                                    .bias = "t",
                                    .raw_weight = "t",
                                    .scale = "t",
                                    .shift = "t",
                                    .mean = "t",
                                    .variance = "t"}};
  EXPECT_EQ(test::diagnostic_of([&] { open_normalizations(model); }),
            errors::normalized_layer_missing(model.graph.name(), "conv"));
}

}  // namespace
}  // namespace halfstep::passes

// The algorithm that inserts quantizers by a record. Each rule alone, on a network where it decides.
#include "halfstep/quant/prepare/insertion.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/platform/errors.h"
#include "halfstep/quant/platform/platform.h"
#include "halfstep/quant/prepare/errors.h"
#include "tests/quant/at.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::at;
using test::diagnostic_of;

InsertionRules rules(const std::string& text) {
  return *parse_platform("base: signed_pow2_int8\nplatform: mine\ninsert: " + text, "p.yaml").insertion;
}

/// Text such as "x r- w:c": values with quantizers, a plus behind those with unsigned codes, and operations whose
/// weights have one.
std::string places(const std::string& body, const std::string& text, const std::vector<std::string>& in_float = {},
                   const std::vector<std::string>& also = {}, const std::set<std::string>& means = {}) {
  const Graph graph = parse(
      "graph g(x: f32[2, 4, 8, 8]) {\n  param @w: f32[4, 4, 1, 1]\n  param @v: f32[4, 1, 1]\n  const @i: i64[4]\n" +
      body + "}\n");
  Requests requests;
  for (const std::string& name : in_float) requests.in_float.emplace(graph.op(name).node(), "in float");
  for (const std::string& name : also) requests.also.emplace(graph.op(name).node(), "wanted");
  requests.means = means;
  const Insertion found = insertion_of(graph, rules(text), requests);
  std::string result;
  for (const auto& activation : found.activations)
    result += activation.value.name() + (activation.is_unsigned ? "+ " : " ");
  for (const Op op : found.weighted) result += "w:" + op.name() + " ";
  return result;
}

constexpr const char* kChain =
    "  c = conv2d(x, w=@w)\n  r = relu(c)\n  p = max_pool2d(r) {kernel: [2, 2], stride: [2, 2]}\n"
    "  d = conv2d(p, w=@w)\n  return d\n";

TEST(Insertion, WhatIsAskedForAndWhatIsGiven) {
  EXPECT_EQ(places(kChain, "{asks: [conv2d]}"), "x p ");
  EXPECT_EQ(places(kChain, "{asks: [conv2d], weights: [conv2d]}"), "x p w:c w:d ");
  EXPECT_EQ(places(kChain, "{asks: [conv2d, max_pool2d]}"), "x r p ");
  EXPECT_EQ(places(kChain, "{gives: [conv2d]}"), "c d ");
  EXPECT_EQ(places(kChain, "{gives: [conv2d], passes: [relu]}"), "r d ");
  EXPECT_EQ(places(kChain, "{gives: [conv2d], fuses: [relu]}"), "r d ");
  EXPECT_EQ(places(kChain, "{gives: [conv2d, relu], fuses: [relu]}"), "r d ");
  EXPECT_EQ(places(kChain, "{asks: [conv2d], skips: [max_pool2d]}"), "x ");
  EXPECT_EQ(places(kChain, "{asks: [conv2d, max_pool2d], propagates: {through: [max_pool2d], to: [conv2d]}}"), "x r ");
}

TEST(Insertion, ComputedWeightHasNoQuantizer) {
  const std::string body =
      "  u = gather(@w, indices=@i) {axis: 0}\n  c = conv2d(x, w=u)\n  d = conv2d(c, w=@w)\n  return d\n";
  EXPECT_EQ(places(body, "{asks: [conv2d], weights: [conv2d]}"), "x c w:d ");
}

TEST(Insertion, EndsOfTheNetwork) {
  EXPECT_EQ(places(kChain, "{asks: [conv2d], inputs: never}"), "p ");
  EXPECT_EQ(places(kChain, "{gives: [max_pool2d], inputs: always, outputs: always}"), "x p d ");
  const std::string both = "  c = conv2d(x, w=@w)\n  d = conv2d(c, w=@w)\n  return c, d\n";
  EXPECT_EQ(places(both, "{asks: [conv2d]}"), "x c ");
  EXPECT_EQ(places(both, "{asks: [conv2d], outputs: never}"), "x ");
}

TEST(Insertion, OperationsThatMergeAskEachOtherForNothing) {
  const std::string body = "  m = mul(x, b=x)\n  c = conv2d(x, w=@w)\n  y = add(m, b=c)\n  z = relu(y)\n  return z\n";
  EXPECT_EQ(places(body, "{asks: [add, mul]}"), "x m c ");
  EXPECT_EQ(places(body, "{asks: [add, mul], merges: [{of: mul, into: add}]}"), "x c ");
  EXPECT_EQ(places(body, "{gives: [mul], merges: [{of: mul, into: add}]}"), "");
}

/// Stored operands count as activations in sums and products only.
TEST(Insertion, StoredOperands) {
  EXPECT_EQ(places("  y = add(x, b=@v)\n  z = prelu(y, slope=@v)\n  return z\n", "{asks: [add, prelu]}"), "x v y ");
}

TEST(Insertion, SignsComeFromInFront) {
  const std::string body =
      "  c = conv2d(x, w=@w)\n  r = relu(c)\n  p = max_pool2d(r) {kernel: [1, 1], stride: [1, 1]}\n  a = add(p, b=r)\n"
      "  b = add(a, b=x)\n  d = conv2d(b, w=@w)\n  return d\n";
  EXPECT_EQ(
      places(body, "{asks: [conv2d, add, max_pool2d], unsigned_behind: [relu], sign_of_inputs: [add, max_pool2d]}"),
      "x r+ p+ a+ b ");
}

std::string as_mqbench(const std::string& quirk) {
  return ", as: mqbench, quirks: [{quirk: " + quirk + ", reason: it does}]}";
}

TEST(Insertion, QuirkMeansApart) {
  const std::string body =
      "  c = conv2d(x, w=@w)\n  g = global_avg_pool(c)\n  m = flatten(g)\n  z = relu(m)\n  return z\n";
  const std::string asks = "{asks: [global_avg_pool]", gives = "{gives: [global_avg_pool], passes: [flatten]";
  EXPECT_EQ(places(body, asks + "}", {}, {}, {"m"}), "c ");
  EXPECT_EQ(places(body, asks + as_mqbench("means_apart"), {}, {}, {"m"}), "");
  EXPECT_EQ(places(body, asks + as_mqbench("means_apart")), "c ");  // a pool and a flatten in the file
  EXPECT_EQ(places(body, gives + "}", {}, {}, {"m"}), "m ");
  EXPECT_EQ(places(body, gives + as_mqbench("means_apart"), {}, {}, {"m"}), "");
  EXPECT_EQ(places(body, "{asks: [reduce_mean]" + as_mqbench("means_apart"), {}, {}, {"m"}), "c ");
}

TEST(Insertion, QuirkNormsWithRelu) {
  const std::string stats = "batch_norm(x, scale=@m, bias=@m, mean=@m, variance=@m)";
  const std::string body =
      "  param @m: f32[4]\n  n = " + stats + "\n  r = relu(n)\n  d = conv2d(r, w=@w)\n  return d\n";
  const std::string asks = "{asks: [batch_norm, conv2d], fuses: [relu], unsigned_behind: [relu]";
  EXPECT_EQ(places(body, asks + "}"), "x r+ ");
  EXPECT_EQ(places(body, asks + as_mqbench("norms_with_relu")), "r ");
  EXPECT_EQ(places(body, "{gives: [batch_norm], passes: [relu], fuses: [relu]" + as_mqbench("norms_with_relu")), "");
  // No relu, or another reader beside it: the normalization is an ordinary one.
  const std::string lone = "  param @m: f32[4]\n  n = " + stats + "\n  r = relu(n)\n  y = add(r, b=n)\n  return y\n";
  EXPECT_EQ(places(lone, asks + as_mqbench("norms_with_relu")), "x ");
}

TEST(Insertion, QuirkPartsSkipped) {
  const std::string body = "  s = slice(x) {starts: [0], ends: [4], axes: [2]}\n  c = conv2d(s, w=@w)\n  return c\n";
  EXPECT_EQ(places(body, "{asks: [conv2d]}"), "s ");
  EXPECT_EQ(places(body, "{asks: [conv2d]" + as_mqbench("parts_skipped")), "");
}

TEST(Insertion, LayersInFloatNeitherAskNorGive) {
  EXPECT_EQ(places(kChain, "{asks: [conv2d], gives: [conv2d], weights: [conv2d]}", {"d"}), "x c w:c ");
}

TEST(Insertion, LayersMayAskThoughNoRuleDoes) {
  EXPECT_EQ(places(kChain, "{asks: [conv2d]}", {}, {"p"}), "x r p ");
  EXPECT_EQ(diagnostic_of([] { places(kChain, "{asks: [conv2d]}", {"p"}, {"p"}); }),
            errors::layer_in_float_and_quantized("max_pool2d", "p", "wanted", "in float"));
}

TEST(Insertion, EveryValueSaysWhyItHasAQuantizer) {
  const Graph graph =
      parse(std::string("graph g(x: f32[2, 4, 8, 8]) {\n  param @w: f32[4, 4, 1, 1]\n") + kChain + "}\n");
  const Insertion found = insertion_of(graph, rules("{asks: [conv2d], gives: [conv2d], passes: [relu]}"), {});
  std::vector<std::string> reasons;
  for (const auto& activation : found.activations) reasons.push_back(activation.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{"requested by conv2d 'c'", "requested by conv2d 'd'",
                                               "result of conv2d 'c', after relu 'r'", "result of conv2d 'd'"}));
}

struct Mistake {
  const char *name, *insert, *key;
  Diagnostic expected;
};

class InsertionMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(InsertionMistakes, AreNamed) {
  EXPECT_EQ(diagnostic_of([] { rules(GetParam().insert); }),
            at(std::string("p.yaml:3: insert") + GetParam().key, GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    OfRecords, InsertionMistakes,
    testing::Values(
        Mistake{"nobody_wants_any", "{fuses: [relu]}", "", errors::insertion_rules_ask_nothing()},
        Mistake{"an_unknown_kind", "{asks: [conv3]}", ".asks",
                errors::record_name_unsuitable("conv3", "kinds of operators", ", did you mean 'conv'?")},
        Mistake{"weights_of_what_has_none", "{asks: [add], weights: [add]}", ".weights",
                errors::record_name_unsuitable("add", "operators that store weights", "")},
        Mistake{"unknown_ends", "{asks: [add], inputs: sometimes}", ".inputs",
                errors::record_value_not_a_choice("'sometimes'", "asked, always, never", "")},
        Mistake{"an_unknown_key", "{asks: [add], merge: []}", ".merge",
                errors::record_key_unknown(", did you mean 'merges'?")},
        Mistake{"no_activation", "{asks: [add], fuses: [hard_swish]}", ".fuses",
                errors::record_name_unsuitable("hard_swish", "activation functions that a layer can fuse", "")},
        Mistake{"a_merge_of_an_unknown_kind", "{asks: [add], merges: [{of: mull, into: add}]}", ".merges[0].of",
                errors::record_name_unsuitable("mull", "a kind of operator", ", did you mean 'mul'?")},
        Mistake{"half_a_merge", "{asks: [add], merges: [{of: mul}]}", ".merges[0].into",
                errors::record_list_key_missing()},
        Mistake{"an_idle_merge", "{asks: [conv2d], merges: [{of: mul, into: add}]}", ".merges[0]",
                errors::merge_without_effect("mul", "add")},
        Mistake{"half_a_propagation", "{asks: [conv2d], propagates: {through: [flatten], to: []}}", ".propagates",
                errors::propagation_without_effect()},
        Mistake{"gives_and_skips", "{asks: [add], gives: [add, relu], skips: [relu]}", ".skips",
                errors::skips_contradict("relu", "gives")},
        Mistake{"passes_and_skips", "{asks: [add], gives: [add], passes: [relu], skips: [relu]}", ".skips",
                errors::skips_contradict("relu", "passes")},
        Mistake{"outputs_that_are_given", "{gives: [add], outputs: never}", ".outputs",
                errors::outputs_contradict_gives()},
        Mistake{"idle_passes", "{asks: [add], passes: [relu]}", ".passes",
                errors::insertion_key_without_effect("gives, whose quantizers it moves")},
        Mistake{"no_quirks", "{asks: [add], as: mqbench}", ".as", errors::mqbench_without_quirks()},
        Mistake{"idle_skips", "{gives: [add], skips: [relu]}", ".skips",
                errors::insertion_key_without_effect("asks, to which it lists exceptions")},
        Mistake{"idle_signs", "{asks: [add], sign_of_inputs: [add]}", ".sign_of_inputs",
                errors::insertion_key_without_effect("unsigned_behind, which it propagates")}),
    [](const auto& mistake) { return mistake.param.name; });

TEST(Insertion, UnsignedCodesAreAnExceptionOfSignedOnes) {
  EXPECT_EQ(
      diagnostic_of([] {
        parse_platform("base: generic_int8\nplatform: mine\ninsert: {asks: [add], unsigned_behind: [relu]}", "p.yaml");
      }),
      at("p.yaml:3: insert.unsigned_behind", errors::insertion_key_without_effect("signed codes of activations")));
}

}  // namespace
}  // namespace halfstep::quant

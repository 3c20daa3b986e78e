// Rules that select operators by name, kind and layer: which rule decides, and which rule can never decide.
#include "halfstep/quant/platform/legal_rules.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/platform/errors.h"
#include "tests/quant/at.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::at;
using test::bare;
using test::diagnostic_of;
using test::diagnostics_of;

const std::string kFile = "platforms/generic_int8.yaml:1: ";

/// Problems with the bits of one layer.
std::vector<Diagnostic> refused(const std::string& layer, int line, int bits, const char* legal) {
  return {test::on(layer, line, errors::bits_not_legal("weights", "generic_int8", bits, legal))};
}

Diagnostic error_of_rules(const std::string& rules, const std::string& legal_bits = "[2, 4, 8]") {
  return diagnostic_of([&] { load_platform("generic_int8", {{"legal", rules}, {"weights.legal_bits", legal_bits}}); });
}

/// The operation of the network that is called `layer`.
Selected selection(const Model& model, const std::string& layer) { return selected(model.graph.op(layer)); }

Model layers() {
  return test::network(R"(graph g(x: f32[?, 4, 9, 9]) {
  param @w: f32[4, 4, 3, 5]
  param @d: f32[8, 1, 3, 3]
  param @g: f32[4, 4, 1, 1]
  param @h: f32[2, 4]
  conv = conv2d(x, w=@w)
  deep = conv2d(conv, w=@d) {groups: 4}
  group = conv2d(deep, w=@g) {groups: 2}
  pool = max_pool2d(group) {kernel: [2, 3], stride: [2, 2]}
  mean = global_avg_pool(pool)
  flat = flatten(mean)
  head = linear(flat, w=@h)
  return head
}
)");
}

TEST(LegalRules, LayersAreSelectedByWhatTheyAre) {
  const Model model = layers();
  const auto holds = [&](const std::string& layer, const LegalRule& rule) {
    return rule.selects(selection(model, layer));
  };
  const LegalRule depthwise{.op = "conv2d", .where = "depthwise"}, grouped{.op = "conv2d", .where = "grouped"};
  EXPECT_FALSE(holds("conv", depthwise));
  EXPECT_TRUE(holds("deep", depthwise));
  EXPECT_FALSE(holds("group", depthwise));
  EXPECT_FALSE(holds("conv", grouped));
  EXPECT_TRUE(holds("deep", grouped));
  EXPECT_TRUE(holds("group", grouped));
  EXPECT_FALSE(holds("head", grouped));
  const LegalRule wide{.op = "conv2d", .kernel_above = 3}, wide_pool{.op = "max_pool2d", .kernel_above = 2};
  EXPECT_TRUE(holds("conv", wide));
  EXPECT_FALSE(holds("deep", wide));
  EXPECT_TRUE(holds("pool", wide_pool));
  EXPECT_FALSE(holds("pool", {.op = "max_pool2d", .kernel_above = 3}));
  EXPECT_TRUE(holds("head", {.trait = Trait::weighted}));
  EXPECT_FALSE(holds("pool", {.trait = Trait::weighted}));
  const LegalRule last{.trait = Trait::weighted, .where = "last"};
  Selected head = selection(model, "head");
  EXPECT_FALSE(last.selects(head));
  head.is_last = true;
  EXPECT_TRUE(last.selects(head));
}

/// No depthwise layer with 4 bits: quantize and a later change of bit widths refuse it by name, and other layers are
/// accepted.
TEST(LegalRules, NoFourBitDepthwise) {
  const std::vector<std::pair<std::string, std::string>> rule = {
      {"legal", "[{op: conv2d, where: depthwise, weights: [8], reason: the depthwise unit has 8-bit weights}]"}};
  const auto deep = refused("deep", 7, 4, "8 (the depthwise unit has 8-bit weights)");
  EXPECT_EQ(bare(diagnostics_of([&] { test::prepared(layers(), "generic_int8", {4, {}, {}}, rule); })), deep);
  Model model = test::prepared(layers(), "generic_int8", {}, rule);
  EXPECT_EQ(bare(diagnostics_of([&] { set_bits(model, "deep", 4, {}); })), deep);
  set_bits(model, "group", 4, {});
}

TEST(LegalRules, FirstAndLastAreThoseWithWeights) {
  for (const auto& [where, layer] : std::map<std::string, std::string>{{"first", "conv"}, {"last", "head"}}) {
    const std::vector<std::pair<std::string, std::string>> rule = {
        {"legal", "[{trait: weighted, where: " + where + ", weights: [6], reason: why}]"}};
    const int line = layer == "conv" ? 6 : 12;
    EXPECT_EQ(bare(diagnostics_of([&] { test::prepared(layers(), "generic_int8", {}, rule); })),
              refused(layer, line, 8, "6 (why)"));
    Model model = test::prepared(layers(), "generic_int8", {{}, {}, 6}, rule);
    EXPECT_EQ(bare(diagnostics_of([&] { set_bits(model, layer, 4, {}); })), refused(layer, line, 4, "6 (why)"));
    set_bits(model, "deep", 4, {});
  }
}

TEST(LegalRules, WhatNeverDecidesIsObjectedTo) {
  const std::string first = "{op: conv2d, activations: [8], reason: a}";
  const auto second = [&](const std::string& rule) { return error_of_rules("[" + first + ", " + rule + "]"); };
  const Diagnostic behind = at(kFile + "legal[1]", errors::rule_never_decides(0));
  EXPECT_EQ(second("{op: conv2d, activations: [4], reason: b}"), behind);
  EXPECT_EQ(second("{op: conv2d, where: depthwise, activations: [4], reason: b}"), behind);
  EXPECT_EQ(second("{trait: weighted, activations: [4], reason: b}"), Diagnostic{});
  EXPECT_EQ(error_of_rules("[{trait: weighted, activations: [4], reason: b}, " + first + "]"), behind);
  const auto pair = [](const std::string& a, const std::string& b) {
    const std::string rest = ", activations: [8], reason: a}";
    return error_of_rules("[{op: conv2d, " + a + rest + ", {op: conv2d, " + b + rest + "]");
  };
  EXPECT_EQ(pair("where: grouped", "where: depthwise"), behind);
  EXPECT_EQ(pair("where: depthwise", "where: grouped"), Diagnostic{});
  EXPECT_EQ(pair("kernel_above: 3", "kernel_above: 7"), behind);
  EXPECT_EQ(pair("kernel_above: 7", "kernel_above: 3"), Diagnostic{});
}

TEST(LegalRules, WhatCannotBeSelectedIsObjectedTo) {
  const std::string rule = kFile + "legal[0]";
  EXPECT_EQ(error_of_rules("[{op: log_softmax, refused: true, reason: no table}]"),
            at(rule + ".op", errors::record_name_unsuitable("log_softmax", "an operator that can have codes", "")));
  EXPECT_EQ(error_of_rules("[{op: add, where: depthwise, activations: [8], reason: a}]"),
            at(rule + ".where",
               errors::rule_does_not_fit_operators("depthwise", "a property that these operators can have")));
  EXPECT_EQ(
      error_of_rules("[{op: add, where: first, activations: [8], reason: a}]"),
      at(rule + ".where", errors::rule_does_not_fit_operators("first", "a property that these operators can have")));
  EXPECT_EQ(error_of_rules("[{op: add, kernel_above: 3, activations: [8], reason: a}]"),
            at(rule + ".kernel_above",
               errors::rule_does_not_fit_operators("operators without a window", "convolutions or pools")));
  EXPECT_EQ(error_of_rules("[{op: linear, where: last, weights: [8], reason: a}, {trait: accumulates, kernel_above: 3, "
                           "activations: [8], reason: b}]"),
            Diagnostic{});
}

TEST(LegalRules, WhatSaysNothingIsObjectedTo) {
  const std::string rule = kFile + "legal[0]";
  EXPECT_EQ(
      error_of_rules("[{op: add, weights: [8], reason: a}]"),
      at(rule + ".weights", errors::rule_does_not_fit_operators("operators without weights", "only activations")));
  EXPECT_EQ(error_of_rules("[{op: add, reason: a}]"), at(rule, errors::rule_without_consequence()));
  EXPECT_EQ(error_of_rules("[{op: add, refused: false, reason: a}]"), at(rule, errors::rule_without_consequence()));
  EXPECT_EQ(error_of_rules("[{op: add, refused: true, activations: [8], reason: a}]"),
            at(rule + ".refused", errors::rule_refuses_with_bit_widths()));
  EXPECT_EQ(error_of_rules("[{op: conv2d, weights: [6, 7], reason: a}]"),
            at(rule + ".weights", errors::rule_bit_widths_not_legal("6, 7", "weights", "2, 4, 8")));
  EXPECT_EQ(error_of_rules("[{op: conv2d, weights: [], reason: a}]"),
            at(rule + ".weights", errors::rule_bit_widths_empty()));
}

}  // namespace
}  // namespace halfstep::quant

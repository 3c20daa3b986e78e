// Rules that select operators by name, kind and layer: which decides, and which never could.
#include "halfstep/quant/platform/legal_rules.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::error_of;

constexpr const char* kFile = "platforms/generic_int8.yaml:1: ";

std::string error_of_rules(const std::string& rules, const std::string& legal_bits = "[2, 4, 8]") {
  return error_of([&] { load_platform("generic_int8", {{"legal", rules}, {"weights.legal_bits", legal_bits}}); });
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

/// No depthwise layer of 4 bits: quantize and a later change of widths refuse it by name, and others stay as they are.
TEST(LegalRules, NoFourBitDepthwise) {
  const std::vector<std::pair<std::string, std::string>> rule = {
      {"legal", "[{op: conv2d, where: depthwise, weights: [8], reason: the depthwise unit has 8-bit weights}]"}};
  const std::string refused =
      "weights on generic_int8: found 4 bits, expected 8 (the depthwise unit has 8-bit weights)";
  const std::string error = error_of([&] { test::prepared(layers(), "generic_int8", {4, {}, {}}, rule); });
  EXPECT_EQ(error.find("node 'deep': " + refused), error.find("node 'deep'")) << error;
  EXPECT_EQ(error.find("node 'group'"), std::string::npos) << error;
  Model model = test::prepared(layers(), "generic_int8", {}, rule);
  EXPECT_NE(error_of([&] { set_bits(model, "deep", 4, {}); }).find(refused), std::string::npos);
  set_bits(model, "group", 4, {});
}

TEST(LegalRules, FirstAndLastAreThoseWithWeights) {
  for (const auto& [where, layer] : std::map<std::string, std::string>{{"first", "conv"}, {"last", "head"}}) {
    const std::vector<std::pair<std::string, std::string>> rule = {
        {"legal", "[{trait: weighted, where: " + where + ", weights: [6], reason: why}]"}};
    const std::string error = error_of([&] { test::prepared(layers(), "generic_int8", {}, rule); });
    EXPECT_NE(error.find("node '" + layer + "': weights on generic_int8: found 8 bits, expected 6 (why)"),
              std::string::npos)
        << error;
    EXPECT_EQ(error.find("node '"), error.rfind("node '")) << error;
    Model model = test::prepared(layers(), "generic_int8", {{}, {}, 6}, rule);
    EXPECT_NE(error_of([&] { set_bits(model, layer, 4, {}); }).find("found 4 bits, expected 6"), std::string::npos);
    set_bits(model, "deep", 4, {});
  }
}

TEST(LegalRules, WhatNeverDecidesIsObjectedTo) {
  const std::string first = "{op: conv2d, features: [8], reason: a}";
  const auto second = [&](const std::string& rule) { return error_of_rules("[" + first + ", " + rule + "]"); };
  const std::string behind = std::string(kFile) +
                             "legal[1]: has no effect, because legal[0] decides first; put it in front of that, or "
                             "remove it";
  EXPECT_EQ(second("{op: conv2d, features: [4], reason: b}"), behind);
  EXPECT_EQ(second("{op: conv2d, where: depthwise, features: [4], reason: b}"), behind);
  EXPECT_EQ(second("{trait: weighted, features: [4], reason: b}"), "no error");
  EXPECT_EQ(error_of_rules("[{trait: weighted, features: [4], reason: b}, " + first + "]"), behind);
  const auto pair = [](const std::string& a, const std::string& b) {
    const std::string rest = ", features: [8], reason: a}";
    return error_of_rules("[{op: conv2d, " + a + rest + ", {op: conv2d, " + b + rest + "]");
  };
  EXPECT_EQ(pair("where: grouped", "where: depthwise"), behind);
  EXPECT_EQ(pair("where: depthwise", "where: grouped"), "no error");
  EXPECT_EQ(pair("kernel_above: 3", "kernel_above: 7"), behind);
  EXPECT_EQ(pair("kernel_above: 7", "kernel_above: 3"), "no error");
}

TEST(LegalRules, WhatCannotBeSelectedIsObjectedTo) {
  const std::string at = std::string(kFile) + "legal[0]";
  const std::string none = at + ".op: found 'log_softmax', expected an operator that can have codes";
  EXPECT_EQ(error_of_rules("[{op: log_softmax, refused: true, reason: no table}]"), none);
  EXPECT_EQ(error_of_rules("[{op: add, where: depthwise, features: [8], reason: a}]"),
            at + ".where: found depthwise, expected a property that these operators can have");
  EXPECT_EQ(error_of_rules("[{op: add, where: first, features: [8], reason: a}]"),
            at + ".where: found first, expected a property that these operators can have");
  EXPECT_EQ(error_of_rules("[{op: add, kernel_above: 3, features: [8], reason: a}]"),
            at + ".kernel_above: found operators without a window, expected convolutions or pools");
  EXPECT_EQ(error_of_rules("[{op: linear, where: last, weights: [8], reason: a}, {trait: accumulates, kernel_above: 3, "
                           "features: [8], reason: b}]"),
            "no error");
}

TEST(LegalRules, WhatSaysNothingIsObjectedTo) {
  const std::string at = std::string(kFile) + "legal[0]";
  EXPECT_EQ(error_of_rules("[{op: add, weights: [8], reason: a}]"),
            at + ".weights: found operators without weights, expected features alone");
  EXPECT_EQ(error_of_rules("[{op: add, reason: a}]"),
            at + ": has no effect, expected features, weights, gives or refused: true");
  EXPECT_EQ(error_of_rules("[{op: add, refused: false, reason: a}]"),
            at + ": has no effect, expected features, weights, gives or refused: true");
  EXPECT_EQ(error_of_rules("[{op: add, refused: true, features: [8], reason: a}]"),
            at + ".refused: found widths of what is refused, expected one of the two");
  EXPECT_EQ(error_of_rules("[{op: conv2d, weights: [6, 7], reason: a}]"),
            at + ".weights: found 6, 7, expected some of weights.legal_bits: 2, 4, 8");
  EXPECT_EQ(error_of_rules("[{op: conv2d, weights: [], reason: a}]"),
            at + ".weights: found no width, expected at least one, or refused: true");
}

}  // namespace
}  // namespace halfstep::quant

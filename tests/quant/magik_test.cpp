// The records of fixed-point chips of the Magik kind: pairs of bit widths by operator, channels, and missing operators.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "halfstep/quant/platform/errors.h"
#include "tests/quant/at.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::bare;
using test::on;

using Diagnostics = std::vector<Diagnostic>;

/// Reasons why a chip refuses `body`, for images of 32 channels.
Diagnostics refusal(const std::string& platform, const std::string& body, int weights, int activations, int edges = 8) {
  const Model model = test::network(
      "graph g(x: f32[?, 32, 8, 8]) {\n  param @w: f32[32, 32, 3, 3]\n  param @d: f32[32, 1, 3, 3]\n"
      "  param @f: f32[10, 2048]\n" +
      body + "}\n");
  return bare(test::diagnostics_of([&] { test::prepared(model, platform, {weights, activations, edges}); }));
}

bool has(const Diagnostics& all, const Diagnostic& one) { return std::ranges::find(all, one) != all.end(); }

const std::string kSame = "{pad: [1, 1, 1, 1]}\n";
const std::string kConv = "  a = conv2d(x, w=@w) " + kSame + "  b = conv2d(a, w=@w) " + kSame;
const std::string kDepthwise = "  a = conv2d(x, w=@w) " + kSame +
                               "  b = conv2d(a, w=@d) {pad: [1, 1, 1, 1], groups: 32}\n" + "  c = conv2d(b, w=@w) " +
                               kSame + "  e = conv2d(c, w=@w) " + kSame + "  return e\n";
const std::string kPlain = kConv + "  c = conv2d(b, w=@w) " + kSame + "  return c\n";

TEST(Magik, BitWidthsAreThoseOfTheTables) {
  for (const char* chip : {"magik_t40", "magik_t41"}) {
    for (const int bits : {4, 8}) EXPECT_EQ(refusal(chip, kPlain, bits, bits), Diagnostics{}) << chip;
    for (const int bits : {10, 12}) EXPECT_EQ(refusal(chip, kPlain, 8, bits), Diagnostics{}) << chip;
    EXPECT_TRUE(has(refusal(chip, kPlain, 2, 8), on("b", 6, errors::bits_not_legal("weights", chip, 2, "4, 8"))));
    EXPECT_TRUE(
        has(refusal(chip, kPlain, 8, 6), on("b", 6, errors::bits_not_legal("activations", chip, 6, "4, 8, 10, 12"))));
  }
  for (const char* chip : {"magik_t02", "magik_txx"}) {
    for (const int bits : {4, 8}) EXPECT_EQ(refusal(chip, kPlain, bits, bits), Diagnostics{}) << chip;
    EXPECT_TRUE(has(refusal(chip, kPlain, 6, 8), on("b", 6, errors::bits_not_legal("weights", chip, 6, "2, 4, 8"))));
    EXPECT_TRUE(
        has(refusal(chip, kPlain, 8, 10), on("b", 6, errors::bits_not_legal("activations", chip, 10, "2, 4, 8"))));
  }
}

/// The legal bits of an operator's result depend on its input.
TEST(Magik, BitWidthsComeInPairs) {
  EXPECT_EQ(refusal("magik_t40", kDepthwise, 4, 4), Diagnostics{});
  EXPECT_EQ(refusal("magik_t40", kDepthwise, 4, 8), Diagnostics{});
  EXPECT_EQ(refusal("magik_t40", kDepthwise, 8, 4),
            Diagnostics{
                on("b", 6, errors::bits_not_legal("weights", "magik_t40", 8, "4 (depthwise layers on 4-bit codes)"))});
  EXPECT_TRUE(has(refusal("magik_txx", kPlain, 8, 2),
                  on("b", 6, errors::bits_not_legal("weights", "magik_txx", 8, "2, 4 (convolutions on 2-bit codes)"))));
  EXPECT_TRUE(has(
      refusal("magik_txx", kPlain, 2, 2),
      on("a", 5, errors::bits_not_legal("results of conv2d", "magik_txx", 2, "4, 8 (convolutions on 8-bit codes)"))));
}

TEST(Magik, AFirstDepthwiseLayerGivesWhatItReads) {
  const std::string body = "  a = conv2d(x, w=@d) {pad: [1, 1, 1, 1], groups: 32}\n  b = conv2d(a, w=@w) " + kSame +
                           "  c = conv2d(b, w=@w) " + kSame + "  return c\n";
  EXPECT_TRUE(has(
      refusal("magik_t40", body, 4, 4),
      on("a", 5, errors::bits_not_legal("results of conv2d", "magik_t40", 4, "8 (depthwise layers on 8-bit codes)"))));
}

TEST(Magik, WhatAChipLacksIsRefused) {
  const std::string two = "  p = max_pool2d(a) {kernel: [2, 2], stride: [2, 2]}\n";
  const std::string three = "  p = max_pool2d(a) {kernel: [3, 3], stride: [2, 2]}\n";
  const auto pooled = [](const std::string& pool) {
    return "  a = conv2d(x, w=@w) " + kSame + pool + "  b = conv2d(p, w=@w) " + kSame + "  return b\n";
  };
  EXPECT_EQ(refusal("magik_t02", pooled(two), 8, 8), Diagnostics{});
  const auto refused = [](const std::string& chip, const std::string& body, const std::string& op) {
    return std::ranges::any_of(refusal(chip, body, 8, 8), [&](const Diagnostic& one) {
      return one.entry == &errors::operator_refused_entry &&
             one.problem.starts_with(chip + " does not support " + op + ":");
    });
  };
  EXPECT_TRUE(refused("magik_t02", pooled(three), "max_pool2d"));
  EXPECT_EQ(refusal("magik_txx", pooled(three), 8, 8), Diagnostics{});
  EXPECT_TRUE(refused("magik_t02", kDepthwise, "conv2d"));
  EXPECT_TRUE(refused("magik_t02", pooled("  p = avg_pool2d(a) {kernel: [2, 2], stride: [2, 2]}\n"), "avg_pool2d"));
  EXPECT_TRUE(refused("magik_t41", "  a = conv2d(x, w=@w) {stride: [3, 3]}\n  return a\n", "conv2d"));
  const auto joined = [](int count) {
    std::string inputs = "a";
    for (int i = 1; i < count; ++i) inputs += ", a";
    return "  a = conv2d(x, w=@w) " + kSame + "  k = concat(x=[" + inputs + "]) {axis: 1}\n  return k\n";
  };
  EXPECT_EQ(refusal("magik_t02", joined(8), 8, 8), Diagnostics{});
  EXPECT_TRUE(refused("magik_t02", joined(9), "concat"));
}

TEST(Magik, ChangedBitWidthsAreHeldAgainstThePairsToo) {
  const Model model =
      test::network("graph g(x: f32[?, 32, 8, 8]) {\n  param @w: f32[32, 32, 3, 3]\n  param @d: f32[32, 1, 3, 3]\n" +
                    kDepthwise + "}\n");
  Model prepared = test::prepared(model, "magik_t40");
  EXPECT_TRUE(has(
      bare(test::diagnostics_of([&] { set_bits(prepared, "b", {}, 4); })),
      on("b", 5, errors::bits_not_legal("results of conv2d", "magik_t40", 4, "8 (depthwise layers on 8-bit codes)"))));
  EXPECT_TRUE(
      has(bare(test::diagnostics_of([&] { set_inner_bits(prepared, 8, 4); })),
          on("b", 5, errors::bits_not_legal("weights", "magik_t40", 8, "4 (depthwise layers on 4-bit codes)"))));
  set_inner_bits(prepared, 4, 4);
  EXPECT_EQ(bits_of(test::quantizer(prepared, "b.q")), 4);
}

}  // namespace
}  // namespace halfstep::quant

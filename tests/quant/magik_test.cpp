// The records of fixed-point chips of the Magik kind: pairs of widths by operator, channels, what a chip lacks.
#include <gtest/gtest.h>

#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

/// What stands in the way of `body` on a chip, for images of 32 channels; "no error" for nothing.
std::string refusal(const std::string& platform, const std::string& body, int weights, int features, int edges = 8) {
  const Model model = test::network(
      "graph g(x: f32[?, 32, 8, 8]) {\n  param @w: f32[32, 32, 3, 3]\n  param @d: f32[32, 1, 3, 3]\n"
      "  param @f: f32[10, 2048]\n" +
      body + "}\n");
  return test::error_of([&] { test::prepared(model, platform, {weights, features, edges}); });
}

bool says(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

const std::string kSame = "{pad: [1, 1, 1, 1]}\n";
const std::string kConv = "  a = conv2d(x, w=@w) " + kSame + "  b = conv2d(a, w=@w) " + kSame;
const std::string kDepthwise = "  a = conv2d(x, w=@w) " + kSame +
                               "  b = conv2d(a, w=@d) {pad: [1, 1, 1, 1], groups: 32}\n" + "  c = conv2d(b, w=@w) " +
                               kSame + "  e = conv2d(c, w=@w) " + kSame + "  return e\n";
const std::string kPlain = kConv + "  c = conv2d(b, w=@w) " + kSame + "  return c\n";

TEST(Magik, WidthsAreThoseOfTheTables) {
  for (const char* chip : {"magik_t40", "magik_t41"}) {
    for (const int bits : {4, 8}) EXPECT_EQ(refusal(chip, kPlain, bits, bits), "no error") << chip;
    for (const int bits : {10, 12}) EXPECT_EQ(refusal(chip, kPlain, 8, bits), "no error") << chip;
    EXPECT_TRUE(says(refusal(chip, kPlain, 2, 8), "found 2 bits, expected 4, 8"));
    EXPECT_TRUE(says(refusal(chip, kPlain, 8, 6), "found 6 bits, expected 4, 8, 10, 12"));
  }
  for (const char* chip : {"magik_t02", "magik_txx"}) {
    for (const int bits : {4, 8}) EXPECT_EQ(refusal(chip, kPlain, bits, bits), "no error") << chip;
    EXPECT_TRUE(says(refusal(chip, kPlain, 6, 8), "found 6 bits, expected 2, 4, 8"));
    EXPECT_TRUE(says(refusal(chip, kPlain, 8, 10), "found 10 bits, expected 2, 4, 8"));
  }
}

/// What an operator may give depends on what it reads.
TEST(Magik, WidthsComeInPairs) {
  EXPECT_EQ(refusal("magik_t40", kDepthwise, 4, 4), "no error");
  EXPECT_EQ(refusal("magik_t40", kDepthwise, 4, 8), "no error");
  EXPECT_EQ(
      refusal("magik_t40", kDepthwise, 8, 4),
      "g.ir:6: node 'b': weights on magik_t40: found 8 bits, expected 4 (depthwise layers on 4-bit codes); ask for "
      "one of these (--weights, --features, --edges), or keep the layer in float (--float NAME)");
  EXPECT_TRUE(says(refusal("magik_txx", kPlain, 8, 2),
                   "node 'b': weights on magik_txx: found 8 bits, expected 2, 4 "
                   "(convolutions on 2-bit codes)"));
  EXPECT_TRUE(
      says(refusal("magik_txx", kPlain, 2, 2),
           "node 'a': what conv2d gives on magik_txx: found 2 bits, expected 4, 8 (convolutions on 8-bit codes)"));
}

TEST(Magik, AFirstDepthwiseLayerGivesWhatItReads) {
  const std::string body = "  a = conv2d(x, w=@d) {pad: [1, 1, 1, 1], groups: 32}\n  b = conv2d(a, w=@w) " + kSame +
                           "  c = conv2d(b, w=@w) " + kSame + "  return c\n";
  EXPECT_TRUE(
      says(refusal("magik_t40", body, 4, 4),
           "node 'a': what conv2d gives on magik_t40: found 4 bits, expected 8 (depthwise layers on 8-bit codes)"));
}

TEST(Magik, WhatAChipLacksIsRefused) {
  const std::string two = "  p = max_pool2d(a) {kernel: [2, 2], stride: [2, 2]}\n";
  const std::string three = "  p = max_pool2d(a) {kernel: [3, 3], stride: [2, 2]}\n";
  const auto pooled = [](const std::string& pool) {
    return "  a = conv2d(x, w=@w) " + kSame + pool + "  b = conv2d(p, w=@w) " + kSame + "  return b\n";
  };
  EXPECT_EQ(refusal("magik_t02", pooled(two), 8, 8), "no error");
  EXPECT_TRUE(says(refusal("magik_t02", pooled(three), 8, 8), "magik_t02 has no max_pool2d: its pools are of 2 by 2"));
  EXPECT_EQ(refusal("magik_txx", pooled(three), 8, 8), "no error");
  EXPECT_TRUE(says(refusal("magik_t02", kDepthwise, 8, 8), "magik_t02 has no conv2d: the chip has no depthwise "));
  EXPECT_TRUE(says(refusal("magik_t02", pooled("  p = avg_pool2d(a) {kernel: [2, 2], stride: [2, 2]}\n"), 8, 8),
                   "magik_t02 has no avg_pool2d"));
  EXPECT_TRUE(says(refusal("magik_t41", "  a = conv2d(x, w=@w) {stride: [3, 3]}\n  return a\n", 8, 8),
                   "magik_t41 has no conv2d: windows take steps of 1 or 2"));
  const auto joined = [](int count) {
    std::string inputs = "a";
    for (int i = 1; i < count; ++i) inputs += ", a";
    return "  a = conv2d(x, w=@w) " + kSame + "  k = concat(x=[" + inputs + "]) {axis: 1}\n  return k\n";
  };
  EXPECT_EQ(refusal("magik_t02", joined(8), 8, 8), "no error");
  EXPECT_TRUE(
      says(refusal("magik_t02", joined(9), 8, 8), "magik_t02 has no concat: its concatenations join at most 8"));
}

TEST(Magik, ChangedWidthsAreHeldAgainstThePairsToo) {
  const Model model =
      test::network("graph g(x: f32[?, 32, 8, 8]) {\n  param @w: f32[32, 32, 3, 3]\n  param @d: f32[32, 1, 3, 3]\n" +
                    kDepthwise + "}\n");
  Model prepared = test::prepared(model, "magik_t40");
  EXPECT_TRUE(says(test::error_of([&] { set_bits(prepared, "b", {}, 4); }),
                   "node 'b': what conv2d gives on magik_t40: found 4 bits, expected 8"));
  EXPECT_TRUE(
      says(test::error_of([&] { set_inner_bits(prepared, 8, 4); }), "node 'b': weights on magik_t40: found 8 bits"));
  set_inner_bits(prepared, 4, 4);
  EXPECT_EQ(bits_of(test::quantizer(prepared, "b.q")), 4);
}

}  // namespace
}  // namespace halfstep::quant

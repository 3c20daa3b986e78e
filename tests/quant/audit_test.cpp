// What the audit says of every layer with weights.
#include <gtest/gtest.h>

#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::images;
using test::network;
using test::prepared;

const std::string kTwoLayers = "  c = conv2d(x, w=@w)\n  r = relu(c)\n  d = conv2d(r, w=@v)\n  return d\n";

TEST(Audit, SaysWidthsChannelsAndWhoFindsTheScale) {
  const auto rows = audit(prepared(images(kTwoLayers), "generic_int8", {4, 4, {}}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].layer, "c");
  EXPECT_EQ(rows[0].op, "conv2d");
  EXPECT_EQ(rows[0].weight, "8 bits per channel, observed");
  EXPECT_EQ(rows[0].input, "8 bits, observed");
  EXPECT_EQ(rows[0].output, "8 bits, observed");
  EXPECT_TRUE(rows[0].fully_quantized && rows[1].fully_quantized);
}

TEST(Audit, LearnedScalesAndOtherFormsAreSaid) {
  const std::string three =
      "  c = conv2d(x, w=@w)\n  r = relu(c)\n  d = conv2d(r, w=@v)\n  e = conv2d(d, w=@u)\n  return e\n";
  const auto rows = audit(prepared(images(three), "pow2_int8", {4, 4, {}}));
  EXPECT_EQ(rows[0].output, "4 bits, learned, power_of_two");
  EXPECT_EQ(rows[1].input, "4 bits, learned");
  EXPECT_EQ(rows[1].weight, "4 bits, learned");
  EXPECT_EQ(rows[2].output, "8 bits, observed, power_of_two");
}

TEST(Audit, LooksThroughWhatMovesCodes) {
  const auto rows = audit(
      prepared(images("  f = max_pool2d(x) {kernel: [2, 2], stride: [2, 2]}\n  c = conv2d(f, w=@v)\n  return c\n")));
  EXPECT_EQ(rows[0].input, "8 bits, observed");
}

TEST(Audit, FindsWhatIsInFloat) {
  Model model = prepared(images(kTwoLayers));
  const Op d = model.graph.op("d");
  d.set_operand(d.info().quant.weight, model.graph.tensor("v"));
  auto rows = audit(model);
  EXPECT_EQ(rows[1].weight, "float: the weight has no quantizer");
  EXPECT_FALSE(rows[1].fully_quantized);
  EXPECT_TRUE(rows[0].fully_quantized);
  const auto floats = audit(images(kTwoLayers));
  EXPECT_EQ(floats[0].input, "float: nothing quantizes the network's input");
  EXPECT_EQ(floats[0].output, "float: no quantizer reads it");
  EXPECT_EQ(floats[1].input, "float: it comes from relu 'r'");
  EXPECT_FALSE(floats[0].fully_quantized);
}

/// A layer that could not have codes is a row too; other islands have no weights.
TEST(Audit, LayersThatStayInFloatHaveRows) {
  const auto rows =
      audit(prepared(images("  c = conv2d(x, w=@w)\n  k = mul(a=@v, b=@u)\n  s = softmax(c) {axis: 1}\n"
                            "  d = conv2d(s, w=k)\n  return d\n")));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].weight, "float: the weight has no quantizer");
  EXPECT_EQ(rows[1].input, "float: it comes from softmax 's'");
}

}  // namespace
}  // namespace halfstep::quant

// Markers bound what is quantized; wrong ones are named, all at once.
#include "halfstep/quant/prepare/regions.h"

#include <gtest/gtest.h>

#include <set>

#include "halfstep/core/ir/text/print.h"
#include "halfstep/quant/prepare/float_islands.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::images;

/// A softmax in front of two layers and one behind them.
const std::string kBegin = "  s = log_softmax(x) {axis: 1}\n  i = input_nop(s)\n  c = conv2d(i, w=@w)\n  r = relu(c)\n";
const std::string kMiddle = kBegin + "  d = conv2d(r, w=@v)\n  o = output_nop(d)\n  e = log_softmax(o) {axis: 1}\n";

std::set<std::string> outside(const Model& model) {
  std::set<std::string> names;
  for (const auto& [node, reason] : outside_regions(model.graph)) names.insert(node->name);
  return names;
}

/// Of the whole network `body`, "LAYER: REASON" each.
std::set<std::string> objections(const std::string& body) {
  std::set<std::string> found;
  for (const Objection& one : objections_to_markers(images(body).graph)) found.insert(one.layer + ": " + one.reason());
  return found;
}

using Texts = std::set<std::string>;

TEST(Regions, WhatLiesOutsideStaysInFloatAndNeedsNoLeave) {
  const Model prepared = test::prepared(images(kMiddle + "  return e\n"));
  EXPECT_EQ(test::feature_quantizers(prepared), (std::vector<std::string>{"i.q", "r.q", "d.q"}));
  EXPECT_EQ(outside(images(kMiddle + "  return e\n")), (Texts{"s", "i", "e"}));
  EXPECT_EQ(float_islands(prepared).size(), 3U);
  EXPECT_TRUE(islands_inside(prepared).empty());
}

TEST(Regions, AnIslandInsideNeedsLeaveNevertheless) {
  const Model prepared =
      test::prepared(images(
          kBegin + "  m = log_softmax(r) {axis: 1}\n  d = conv2d(m, w=@v)\n  o = output_nop(d)\n  e = log_softmax(o) "
                   "{axis: 1}\n  return e\n"));
  const auto islands = islands_inside(prepared);
  ASSERT_EQ(islands.size(), 1U);
  EXPECT_EQ(islands[0].layer, "m");
}

TEST(Regions, TheFirstAndLastLayersOfTheRegionAreTheEnds) {
  const Model prepared = test::prepared(images(kBegin + "  m = conv2d(r, w=@u)\n  d = conv2d(m, w=@v)\n  o = "
                                                        "output_nop(d)\n  e = log_softmax(o) {axis: 1}\n  return e\n"),
                                        "generic_int8", {4, 4, {}});
  std::vector<int> bits;
  for (const char* name : {"i.q", "r.q", "m.q", "d.q"}) bits.push_back(bits_of(test::quantizer(prepared, name)));
  EXPECT_EQ(bits, (std::vector<int>{8, 4, 8, 8}));
}

TEST(Regions, MarkersThatAreMissingAreNamed) {
  EXPECT_EQ(
      objections(kBegin + "  return r\n"),
      (Texts{"i: rule missing-output: a region begins here, and no OutputNOp is behind it; put an OutputNOp right "
             "behind the last layer that the chip computes"}));
  EXPECT_EQ(objections("  c = conv2d(x, w=@w)\n  o = output_nop(c)\n  return o\n"),
            (Texts{"o: rule missing-input: a region ends here, and no InputNOp is in front of it; put an InputNOp on "
                   "what the region reads, such as the image"}));
  EXPECT_EQ(objections(kBegin + "  d = conv2d(r, w=@v)\n  o = output_nop(d)\n  f = conv2d(r, w=@u)\n  return o, f\n"),
            (Texts{"f: rule unmarked-output: this conv2d reads 'r', which leaves the region without an OutputNOp; put "
                   "one right behind 'r', and count it"}));
  EXPECT_EQ(
      objections(kBegin + "  d = conv2d(r, w=@v)\n  o = output_nop(d)\n  return o, d\n"),
      (Texts{"d: rule unmarked-output: an output of the network is 'd', which leaves the region without an OutputNOp; "
             "put one right behind 'd', and count it"}));
  EXPECT_EQ(
      objections(kBegin + "  f = conv2d(x, w=@w)\n  a = add(a=c, b=f)\n  o = output_nop(a)\n  return o\n"),
      (Texts{"a: rule unmarked-input: 'f' comes into the region without an InputNOp; put one on it",
             "r: rule unmarked-output: this relu reads 'c', which leaves the region without an OutputNOp; put one "
             "right behind 'c', and count it"}));
}

TEST(Regions, TheNumberOfOutputsIsCounted) {
  EXPECT_EQ(
      objections(kBegin + "  d = conv2d(r, w=@v)\n  e = conv2d(r, w=@u)\n  o = output_nop(d) {outputs: 3}\n  p = "
                          "output_nop(e) {outputs: 3}\n  return o, p\n"),
      (Texts{"o: rule output-count: every OutputNOp is given the number of all of them: found 2, behind 'd', 'e', "
             "expected 3; put one OutputNOp instance right behind each layer that makes an output",
             "p: rule output-count: every OutputNOp is given the number of all of them: found 2, behind 'd', 'e', "
             "expected 3; put one OutputNOp instance right behind each layer that makes an output"}));
}

TEST(Regions, CrossedMarkersAreNamed) {
  EXPECT_EQ(
      objections("  c = conv2d(x, w=@w)\n  o = output_nop(c)\n  i = input_nop(o)\n  d = conv2d(i, w=@v)\n  "
                 "return d\n"),
      (Texts{"i: rule missing-output: a region begins here, and no OutputNOp is behind it; put an OutputNOp right "
             "behind the last layer that the chip computes",
             "o: rule crossed-markers: a region ends here, in front of where it begins; exchange the two"}));
  const Texts inside = objections(kBegin +
                                  "  j = input_nop(r)\n  d = conv2d(j, w=@v)\n  f = conv2d(r, w=@u)\n  a = "
                                  "add(a=d, b=f)\n  o = output_nop(a)\n  return o\n");
  EXPECT_TRUE(
      inside.contains("j: rule crossed-markers: a region begins inside of another; leave this InputNOp out, or "
                      "end the other region in front of it"));
}

TEST(Regions, WhatAMarkerHasLetOutDoesNotComeBack) {
  EXPECT_EQ(
      objections(kBegin + "  o = output_nop(r) {outputs: 2}\n  d = conv2d(r, w=@v)\n  a = add(a=d, b=o)\n  p = "
                          "output_nop(a) {outputs: 2}\n  return o, p\n"),
      (Texts{"a: rule output-order: this add of the region reads 'o', which an OutputNOp has let out of it; call "
             "OutputNOp right behind the last layer of each output, and nothing of the region on what it gives"}));
}

TEST(Regions, AMarkerBehindAConcatOrAReshapeIsNamedWithTheLayers) {
  EXPECT_EQ(
      objections(kBegin + "  d = conv2d(r, w=@v)\n  e = conv2d(r, w=@u)\n  k = concat(x=[d, e]) {axis: 1}\n  o = "
                          "output_nop(k)\n  return o\n"),
      (Texts{"o: rule output-behind-layer: concat 'k' stands between OutputNOp and what computes its values: 'd', "
             "'e'; put one OutputNOp right behind each of these, and the concat behind those"}));
  EXPECT_EQ(objections("  i = input_nop(x)\n  o = output_nop(i)\n  return o\n"),
            (Texts{"o: rule output-behind-layer: nothing computes between the markers of this region; put the "
                   "OutputNOp right behind the last layer that the chip computes"}));
}

TEST(Regions, AMarkerBehindALayerWithoutCodesSaysWhy) {
  const std::string message = test::error_of(
      [] { test::prepared(images(kBegin + "  m = log_softmax(r) {axis: 1}\n  o = output_nop(m)\n  return o\n")); });
  EXPECT_EQ(
      message,
      "g.ir:10: node 'o': rule output-behind-layer: OutputNOp marks what log_softmax 'm' gives, which stays in float: "
      "found log_softmax has no form on codes; put it behind the last layer that the chip computes");
}

TEST(Regions, AllThatIsWrongIsSaidAtOnce) {
  const std::string message = test::error_of([] {
    test::prepared(images(kBegin +
                          "  d = conv2d(r, w=@v)\n  k = concat(x=[d, r]) {axis: 1}\n  o = output_nop(k) {outputs: "
                          "2}\n  return o, r\n"));
  });
  for (const char* rule : {"rule output-count", "rule output-behind-layer", "rule unmarked-output"})
    EXPECT_NE(message.find(rule), std::string::npos) << message;
}

const std::string kPlain =
    "  c = conv2d(x, w=@w)\n  r = relu(c)\n  d = conv2d(r, w=@v)\n  e = conv2d(d, w=@u)\n  s = "
    "log_softmax(e) {axis: 1}\n  return s\n";

TEST(Regions, TensorsAreNamedByPatterns) {
  const Model model = images(kPlain);
  EXPECT_EQ(outside(with_regions(model, {"r:e"})), (Texts{"c", "r", "r.begin", "s"}));
  EXPECT_EQ(outside(with_regions(model, {":d"})), (Texts{"x.begin", "e", "s"}));
  EXPECT_EQ(outside(with_regions(model, {"x:[d]"})), (Texts{"x.begin", "e", "s"}));
  EXPECT_EQ(outside(with_regions(model, {"x:r", "d:e"})), (Texts{"x.begin", "d", "d.begin", "s"}));
  EXPECT_EQ(outside(with_regions(model, {"x:d", "d:e"})), (Texts{"x.begin", "d.begin", "s"}));
  EXPECT_TRUE(outside(with_regions(model, {})).empty());
  EXPECT_EQ(print(with_regions(model, {}).graph), print(model.graph));
}

TEST(Regions, WhatFitsNothingOrMakesNoSenseIsRefused) {
  const Model model = images(kPlain);
  EXPECT_EQ(test::error_of([&] { with_regions(model, {"r:head"}); }).substr(0, 56),
            "region 'r:head': 'head' fits no layer and no input; ther");
  EXPECT_EQ(test::error_of([&] { with_regions(model, {"r"}); }),
            "region 'r': expected A:B, the tensors between which the network is quantized");
  EXPECT_EQ(test::error_of([&] { with_regions(with_regions(model, {"r:e"}), {"x:r"}); }),
            "region 'x:r': network 'g' has markers of its own, which say where its regions are");
  const auto crossed = objections_to_markers(with_regions(model, {"e:r"}).graph);
  ASSERT_EQ(crossed.size(), 2U);
  EXPECT_EQ(crossed[1].what, "rule crossed-markers: a region ends here, in front of where it begins");
}

}  // namespace
}  // namespace halfstep::quant

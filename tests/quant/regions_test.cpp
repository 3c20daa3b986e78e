// Markers bound the quantized part. Wrong markers are named, all at once.
#include "halfstep/quant/prepare/quantized_regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "halfstep/core/ir/text/print.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/float_fallback.h"
#include "tests/quant/at.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::diagnostic_of;
using test::images;
using test::on;

/// A softmax in front of two layers and one behind them.
const std::string kBegin = "  s = hardmax(x) {axis: 1}\n  i = input_nop(s)\n  c = conv2d(i, w=@w)\n  r = relu(c)\n";
const std::string kMiddle = kBegin + "  d = conv2d(r, w=@v)\n  o = output_nop(d)\n  e = hardmax(o) {axis: 1}\n";

std::set<std::string> outside(const Model& model) {
  std::set<std::string> names;
  for (const auto& [node, reason] : outside_regions(model.graph)) names.insert(node->name);
  return names;
}

using Texts = std::set<std::string>;
using Diagnostics = std::vector<Diagnostic>;

/// Objections to the whole network `body`.
Diagnostics objections(const std::string& body) { return objections_to_markers(images(body).graph); }

TEST(Regions, WhatLiesOutsideStaysInFloatAndNeedsNoLeave) {
  const Model prepared = test::prepared(images(kMiddle + "  return e\n"));
  EXPECT_EQ(test::activation_quantizers(prepared), (std::vector<std::string>{"i.q", "r.q", "d.q"}));
  EXPECT_EQ(outside(images(kMiddle + "  return e\n")), (Texts{"s", "i", "e"}));
  EXPECT_EQ(float_fallback(prepared).size(), 3U);
  EXPECT_TRUE(fallbacks_inside(prepared).empty());
}

TEST(Regions, AFallbackInsideNeedsLeaveNevertheless) {
  const Model prepared = test::prepared(
      images(kBegin + "  m = hardmax(r) {axis: 1}\n  d = conv2d(m, w=@v)\n  o = output_nop(d)\n  e = hardmax(o) "
                      "{axis: 1}\n  return e\n"));
  const auto fallbacks = fallbacks_inside(prepared);
  ASSERT_EQ(fallbacks.size(), 1U);
  EXPECT_EQ(fallbacks[0].layer, "m");
}

TEST(Regions, TheFirstAndLastLayersOfTheRegionAreTheEnds) {
  const Model prepared = test::prepared(images(kBegin + "  m = conv2d(r, w=@u)\n  d = conv2d(m, w=@v)\n  o = "
                                                        "output_nop(d)\n  e = hardmax(o) {axis: 1}\n  return e\n"),
                                        "generic_int8", {4, 4, {}});
  std::vector<int> bits;
  for (const char* name : {"i.q", "r.q", "m.q", "d.q"}) bits.push_back(bits_of(test::quantizer(prepared, name)));
  EXPECT_EQ(bits, (std::vector<int>{8, 4, 8, 8}));
}

TEST(Regions, MarkersThatAreMissingAreNamed) {
  EXPECT_EQ(objections(kBegin + "  return r\n"), (Diagnostics{on("i", 6, errors::marker_without_end())}));
  EXPECT_EQ(objections("  c = conv2d(x, w=@w)\n  o = output_nop(c)\n  return o\n"),
            (Diagnostics{on("o", 6, errors::marker_without_begin())}));
  EXPECT_EQ(objections(kBegin + "  d = conv2d(r, w=@v)\n  o = output_nop(d)\n  f = conv2d(r, w=@u)\n  return o, f\n"),
            (Diagnostics{on("f", 11, errors::region_output_unmarked("this conv2d reads 'r'", "'r'"))}));
  EXPECT_EQ(objections(kBegin + "  d = conv2d(r, w=@v)\n  o = output_nop(d)\n  return o, d\n"),
            (Diagnostics{on("d", 9, errors::region_output_unmarked("an output of the network is 'd'", "'d'"))}));
  EXPECT_EQ(objections(kBegin + "  f = conv2d(x, w=@w)\n  a = add(a=c, b=f)\n  o = output_nop(a)\n  return o\n"),
            (Diagnostics{on("r", 8, errors::region_output_unmarked("this relu reads 'c'", "'c'")),
                         on("a", 10, errors::region_input_unmarked("f"))}));
}

TEST(Regions, TheNumberOfOutputsIsCounted) {
  EXPECT_EQ(objections(kBegin + "  d = conv2d(r, w=@v)\n  e = conv2d(r, w=@u)\n  o = output_nop(d) {outputs: 3}\n  p = "
                                "output_nop(e) {outputs: 3}\n  return o, p\n"),
            (Diagnostics{on("o", 11, errors::markers_miscounted(2, "'d', 'e'", 3)),
                         on("p", 12, errors::markers_miscounted(2, "'d', 'e'", 3))}));
}

TEST(Regions, CrossedMarkersAreNamed) {
  EXPECT_EQ(objections("  c = conv2d(x, w=@w)\n  o = output_nop(c)\n  i = input_nop(o)\n  d = conv2d(i, w=@v)\n  "
                       "return d\n"),
            (Diagnostics{on("i", 7, errors::marker_without_end()), on("o", 6, errors::marker_ends_before_begin())}));
  const Diagnostics inside = objections(kBegin +
                                        "  j = input_nop(r)\n  d = conv2d(j, w=@v)\n  f = conv2d(r, w=@u)\n  a = "
                                        "add(a=d, b=f)\n  o = output_nop(a)\n  return o\n");
  EXPECT_NE(std::ranges::find(inside, on("j", 9, errors::marker_begins_inside())), inside.end());
}

TEST(Regions, WhatAMarkerHasLetOutDoesNotComeBack) {
  EXPECT_EQ(objections(kBegin + "  o = output_nop(r) {outputs: 2}\n  d = conv2d(r, w=@v)\n  a = add(a=d, b=o)\n  p = "
                                "output_nop(a) {outputs: 2}\n  return o, p\n"),
            (Diagnostics{on("a", 11, errors::region_reads_own_output("add", "o"))}));
}

TEST(Regions, AMarkerBehindAConcatOrAReshapeIsNamedWithTheLayers) {
  EXPECT_EQ(objections(kBegin + "  d = conv2d(r, w=@v)\n  e = conv2d(r, w=@u)\n  k = concat(x=[d, e]) {axis: 1}\n  o = "
                                "output_nop(k)\n  return o\n"),
            (Diagnostics{on("o", 12, errors::marker_behind_move("concat", "k", "'d', 'e'"))}));
  EXPECT_EQ(objections("  i = input_nop(x)\n  o = output_nop(i)\n  return o\n"),
            (Diagnostics{on("o", 6, errors::region_without_layer())}));
}

TEST(Regions, AMarkerBehindALayerWithoutCodesSaysWhy) {
  EXPECT_EQ(diagnostic_of([] {
              test::prepared(images(kBegin + "  m = hardmax(r) {axis: 1}\n  o = output_nop(m)\n  return o\n"));
            }),
            on("o", 10, errors::marker_behind_float_layer("hardmax", "m", "hardmax has no integer implementation")));
}

TEST(Regions, AllThatIsWrongIsSaidAtOnce) {
  const auto all = test::diagnostics_of([] {
    test::prepared(images(kBegin +
                          "  d = conv2d(r, w=@v)\n  k = concat(x=[d, r]) {axis: 1}\n  o = output_nop(k) {outputs: "
                          "2}\n  return o, r\n"));
  });
  std::set<std::string_view> names;
  for (const Diagnostic& one : all) names.insert(one.entry->name);
  for (const char* name : {"markers_miscounted", "marker_behind_move", "region_output_unmarked"})
    EXPECT_TRUE(names.contains(name)) << name;
}

const std::string kPlain =
    "  c = conv2d(x, w=@w)\n  r = relu(c)\n  d = conv2d(r, w=@v)\n  e = conv2d(d, w=@u)\n  s = "
    "hardmax(e) {axis: 1}\n  return s\n";

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
  EXPECT_EQ(diagnostic_of([&] { with_regions(model, {"r:head"}); }),
            errors::region_pattern_fits_nothing("r:head", "head", "; there are x, c, r, d, e, s"));
  EXPECT_EQ(diagnostic_of([&] { with_regions(model, {"r"}); }), errors::region_malformed("r"));
  EXPECT_EQ(diagnostic_of([&] { with_regions(with_regions(model, {"r:e"}), {"x:r"}); }),
            errors::region_in_marked_network("x:r", "g"));
  const auto crossed = objections_to_markers(with_regions(model, {"e:r"}).graph);
  ASSERT_EQ(crossed.size(), 2U);
  EXPECT_EQ(crossed[1].entry, &errors::marker_ends_before_begin_entry);
}

}  // namespace
}  // namespace halfstep::quant

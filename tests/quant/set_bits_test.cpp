// Bit widths changed after prepare: every operator that reads the new codes must accept them.
#include <gtest/gtest.h>

#include "halfstep/core/ir/metadata/given_names.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/quant/platform/errors.h"
#include "halfstep/quant/prepare/errors.h"
#include "tests/quant/at.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::bare;
using test::diagnostic_of;
using test::diagnostics_of;

using Diagnostics = std::vector<Diagnostic>;

constexpr const char* kLegal = "2, 3, 4, 5, 6, 7, 8";

Diagnostic wrong(const std::string& layer, int line, const char* values, int bits, const char* legal) {
  return test::on(layer, line, errors::bits_not_legal(values, "generic_int8", bits, legal));
}

Model prepared(const std::string& body, const std::string& legal) {
  return test::prepared(test::network("graph g(x: f32[1, 4, 6, 6]) {\n  param @w: f32[4, 4, 1, 1]\n"
                                      "  param @v: f32[4, 4, 1, 1]\n" +
                                      body + "}\n"),
                        "generic_int8", {}, {{"legal", legal}});
}

int bits(const Model& model, const std::string& quantizer) { return bits_of(test::quantizer(model, quantizer)); }

TEST(SetBits, TheReadersOfALayersCodesHaveASayToo) {
  Model model = prepared("  c = conv2d(x=x, w=@w)\n  s = sigmoid(x=c)\n  d = conv2d(x=s, w=@v)\n  return d\n",
                         "[{op: sigmoid, activations: [4, 8], reason: tables have 4 or 8 bits}]");
  const std::string before = print(model.graph);
  const Diagnostics refused = {wrong("s", 5, "activations", 6, "4, 8 (tables have 4 or 8 bits)")};
  EXPECT_EQ(bare(diagnostics_of([&] { set_bits(model, "c", {}, 6); })), refused);
  EXPECT_EQ(bare(diagnostics_of([&] { set_bits(model, "s", {}, 6); })), refused);
  EXPECT_EQ(print(model.graph), before);
  set_bits(model, "c", {}, 4);
  EXPECT_EQ(bits(model, "c.q"), 4);
  set_bits(model, "d", {}, 6);
}

TEST(SetBits, SelectorsKnowTheNamesOfTheFileToo) {
  Model model = prepared("  c = conv2d(x=x, w=@w)\n  d = conv2d(x=c, w=@v)\n  return d\n", "[]");
  add_given_name(model.metadata.given_names, "c", "getitem_27");
  set_bits(model, "getitem_*", {}, 4);
  EXPECT_EQ(bits(model, "c.q"), 4);
  EXPECT_EQ(bits(model, "d.q"), 8);
}

TEST(SetBits, TheInputIsReadByWhatReadsIt) {
  Model model = prepared("  c = conv2d(x=x, w=@w)\n  return c\n",
                         "[{op: conv2d, activations: [4, 8], reason: its multipliers have 4 or 8 bits}]");
  EXPECT_EQ(bare(diagnostics_of([&] { set_bits(model, "x.q", {}, 5); })),
            Diagnostics{wrong("c", 4, "activations", 5, "4, 8 (its multipliers have 4 or 8 bits)")});
  EXPECT_EQ(bare(diagnostics_of([&] { set_bits(model, "x.q", {}, 9); })),
            (Diagnostics{wrong("x.q", 4, "activations", 9, kLegal), wrong("c", 4, "activations", 9, kLegal)}));
}

TEST(SetBits, WhoSharesAScaleOrOnlyMovesCodesIsAskedAndAllAreNamed) {
  const std::string body =
      "  c = conv2d(x=x, w=@w)\n  d = conv2d(x=x, w=@v)\n  r = sigmoid(x=d)\n  p = max_pool2d(x=r) {kernel: [2, 2], "
      "stride: [2, 2]}\n  "
      "q = "
      "max_pool2d(x=c) {kernel: [2, 2], stride: [2, 2]}\n  k = concat(x=[p, q])\n  return k\n";
  Model model =
      prepared(body,
               "[{op: sigmoid, activations: [8], reason: tables have 8 bits}, {op: max_pool2d, activations: [4, 8], "
               "reason: windows have 4 or 8}]");
  const std::string before = print(model.graph);
  EXPECT_EQ(bare(diagnostics_of([&] { set_bits(model, "c", {}, 5); })),
            (Diagnostics{wrong("r", 6, "activations", 5, "8 (tables have 8 bits)"),
                         wrong("p", 7, "activations", 5, "4, 8 (windows have 4 or 8)"),
                         wrong("q", 8, "activations", 5, "4, 8 (windows have 4 or 8)")}));
  EXPECT_EQ(bare(diagnostics_of([&] { set_bits(model, "c", {}, 4); })),
            Diagnostics{wrong("r", 6, "activations", 4, "8 (tables have 8 bits)")});
  EXPECT_EQ(print(model.graph), before);
}

TEST(SetBits, WeightsAndActivationsAreCheckedTogether) {
  Model model = prepared("  c = conv2d(x=x, w=@w)\n  d = conv2d(x=c, w=@v)\n  return d\n",
                         "[{trait: weighted, weights: [4, 8], reason: weights fill a byte or half of one}]");
  const char* half = "4, 8 (weights fill a byte or half of one)";
  EXPECT_EQ(bare(diagnostics_of([&] { set_bits(model, "*", 5, 9); })),
            (Diagnostics{wrong("x.q", 4, "activations", 9, kLegal), wrong("c", 4, "activations", 9, kLegal),
                         wrong("c", 4, "weights", 5, half), wrong("d", 5, "activations", 9, kLegal),
                         wrong("d", 5, "weights", 5, half)}));
  EXPECT_EQ(bare(diagnostics_of([&] { set_bits(model, "d", 5, {}); })), Diagnostics{wrong("d", 5, "weights", 5, half)});
  set_bits(model, "d", 4, 4);
  EXPECT_EQ(bits(model, "v.q"), 4);
  EXPECT_EQ(bits(model, "w.q"), 8);
}

const std::string kChain =
    "  c1 = conv2d(x=x, w=@w)\n  c2 = conv2d(x=c1, w=@v)\n  d = conv2d(x=c2, w=@w)\n  return d\n";

TEST(SetBits, SelectorsChooseLayersAsFileNamesDo) {
  Model model = prepared(kChain, "[]");
  set_bits(model, "c?", 4, 5);
  EXPECT_EQ(bits(model, "w.q"), 4);
  EXPECT_EQ(bits(model, "v.q"), 4);
  EXPECT_EQ(bits(model, "w.q.2"), 8);
  EXPECT_EQ(bits(model, "c1.q"), 5);
  EXPECT_EQ(bits(model, "d.q"), 8);
  set_bits(model, "[d]", {}, 3);
  EXPECT_EQ(bits(model, "d.q"), 3);
  EXPECT_EQ(bits(model, "w.q.2"), 8);
  set_bits(model, "x.q", 2, 6);  // an input has no weight
  EXPECT_EQ(bits(model, "x.q"), 6);
  EXPECT_EQ(bits(model, "w.q"), 4);
}

TEST(SetBits, AreWhatPrepareWouldHaveGiven) {
  const Model eight = test::calibrated(prepared(kChain, "[]"));
  Model changed = eight;
  set_bits(changed, "*", 4, 4);
  set_bits(changed, "*", 8, 8);
  EXPECT_EQ(print(changed.graph), print(eight.graph));
  EXPECT_EQ(digest(changed), digest(eight));
}

TEST(SetBits, SelectorsThatChooseNothingAreRefused) {
  Model model = prepared(
      "  c = conv2d(x=x, w=@w)\n  p = max_pool2d(x=c) {kernel: [2, 2], stride: [2, 2]}\n  s = hardmax(x=p) {axis: "
      "1}\n "
      " return s\n",
      "[]");
  EXPECT_EQ(diagnostic_of([&] { set_bits(model, "cc", 4, {}); }),
            errors::selector_matches_nothing("selector", "cc", ", did you mean 'c'?"));
  EXPECT_EQ(diagnostic_of([&] { set_bits(model, "elsewhere*", 4, {}); }),
            errors::selector_matches_nothing("selector", "elsewhere*", "; there are x.q, c, p, s"));
  EXPECT_EQ(diagnostic_of([&] { set_bits(model, "p", {}, 4); }),
            errors::layer_without_quantizer("p", "max_pool2d", "p"));
  EXPECT_EQ(diagnostic_of([&] { set_bits(model, "s", {}, 4); }), errors::layer_without_quantizer("s", "hardmax", "s"));
  EXPECT_EQ(diagnostic_of([&] { set_bits(model, "[ps]", {}, 4); }),
            errors::layer_without_quantizer("[ps]", "max_pool2d", "p"));
  set_bits(model, "[cps]", {}, 4);
  EXPECT_EQ(bits(model, "c.q"), 4);
  Model floats = test::images("  c = conv2d(x, w=@w)\n  return c\n");
  EXPECT_EQ(diagnostic_of([&] { set_bits(floats, "*", 4, {}); }), errors::network_not_prepared());
}

}  // namespace
}  // namespace halfstep::quant

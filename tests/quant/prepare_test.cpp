// Placement of quantizers, their bit widths, and refusals of preparation.
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/passes/graph/separate_names.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/platform/errors.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/float_fallback.h"
#include "halfstep/quant/prepare/float_form.h"
#include "tests/quant/at.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::activation_quantizers;
using test::bare;
using test::diagnostic_of;
using test::diagnostics_of;
using test::images;
using test::kind_of;
using test::network;
using test::on;
using test::prepared;
using test::quantizer;

using Names = std::vector<std::string>;

int bits(const Model& model, const std::string& name) { return bits_of(quantizer(model, name)); }

std::string scale_of(const Model& model, const std::string& name) {
  return passes::scale_tensor(quantizer(model, name)).name();
}

/// Unused operators still count in the naming, as in the source model.
TEST(Prepare, LayersHaveTheNamesThatTheyHaveInTheNetworkThatCameIn) {
  const Model model = images("  unread = relu(x)\n  unread.c = conv2d(x, w=@v)\n  return unread.c\n");
  Model separate = model;
  passes::separate_names(separate);
  EXPECT_TRUE(separate.graph.op("unread_c"));
  EXPECT_TRUE(prepared(model).graph.op("unread_c"));
}

/// A layer that no output depends on would get ranges that nothing checks.
TEST(Prepare, WhatNoOutputDependsOnGetsNoQuantizers) {
  const Model model = prepared(images("  c = conv2d(x, w=@w)\n  d = conv2d(c, w=@v)\n  e = relu6(d)\n  return c\n"));
  EXPECT_EQ(activation_quantizers(model), (Names{"x.q", "c.q"}));
}

TEST(Prepare, QuantizesInputsAndFusedResultsOnly) {
  const Model model = prepared(
      images("  c = conv2d(x, w=@w) {pad: [1, 1, 1, 1]}\n  r = relu(c)\n  p = max_pool2d(r) {kernel: [2, 2], stride: "
             "[2, 2]}\n  d = conv2d(p, w=@v)\n  return d\n"));
  EXPECT_EQ(activation_quantizers(model), (Names{"x.q", "r.q", "d.q"}));
}

TEST(Prepare, ActivationsWithTwoReadersOfTheirInputBecomeTables) {
  const Model model = prepared(images("  c = conv2d(x, w=@w)\n  r = relu(c)\n  s = add(a=r, b=c)\n  return s\n"));
  EXPECT_EQ(activation_quantizers(model), (Names{"x.q", "c.q", "r.q", "s.q"}));
}

TEST(Prepare, SigmoidAndSiluBecomeTables) {
  const Model model = prepared(images("  c = conv2d(x, w=@w)\n  s = silu(c)\n  t = sigmoid(s)\n  return t\n"));
  EXPECT_EQ(activation_quantizers(model), (Names{"x.q", "c.q", "s.q", "t.q"}));
}

// A5.1
TEST(Prepare, ConcatInputsShareOneScale) {
  const Model model =
      prepared(images("  c = conv2d(x, w=@v)\n  d = conv2d(x, w=@u)\n  k = concat(x=[c, d])\n  e = concat(x=[k, x])\n"
                      "  return e\n"));
  EXPECT_EQ(activation_quantizers(model), (Names{"x.q", "c.q", "d.q"}));
  for (const char* name : {"x.q", "c.q", "d.q"}) EXPECT_EQ(scale_of(model, name), "e.scale") << name;
  EXPECT_EQ(ops::ObserveRange(model.graph.op("e.observer").node()).x().size(), 3U);
}

/// The widest member of a shared scale group decides. An operator that computes has a scale of its own.
TEST(Prepare, WhatSharesAScaleIsAsWideAsTheWidest) {
  const Model model = prepared(images("  c = conv2d(x, w=@v)\n  d = conv2d(c, w=@u)\n  s = add(a=c, b=d)\n"
                                      "  e = conv2d(d, w=@v)\n  y = add(a=s, b=e)\n  return y\n"),
                               "generic_int8", {{}, 4, {}}, {{"share_scales", "[add]"}});
  EXPECT_EQ(scale_of(model, "c.q"), "s.inputs.scale");
  EXPECT_EQ(scale_of(model, "d.q"), "s.inputs.scale");
  EXPECT_EQ(bits(model, "c.q"), 8);  // d belongs to the last layer
  EXPECT_EQ(scale_of(model, "y.q"), "y.scale");
  EXPECT_EQ(bits(model, "y.q"), 4);
}

/// The result of a loop has its scale inside, and so does a value of another region that reads it.
TEST(Prepare, RegionsReadTheScaleOfALoopsResult) {
  const Model model =
      prepared(network("graph g(x: f32[3, 4], h: f32[4]) {\n  param @w: f32[4, 4]\n"
                       "  first = scan(values=[h, x]) {states: 1, scanned: 1} region body(s: f32[4], row: f32[4]) {\n"
                       "    n = add(a=s, b=row)\n    return n\n  }\n"
                       "  second = scan(values=[h, x, first]) {states: 1, scanned: 1} region body(t: f32[4], line: "
                       "f32[4], c: f32[4]) {\n"
                       "    p = mul(a=line, b=c)\n    m = add(a=t, b=p)\n    return m\n  }\n"
                       "  both = add(a=first, b=h)\n  wide = reshape(both) {dims: [1, 4]}\n  y = linear(wide, w=@w)\n  "
                       "return y, second\n}\n"));
  EXPECT_EQ(scale_of(model, "c.q"), scale_of(model, "first.q"));
  EXPECT_EQ(scale_of(model, "c.q"), scale_of(model, "s.q"));
  for (const auto& one : model.graph.all<ops::FakeQuantize>()) EXPECT_NO_THROW(observer_of(one)) << one.name();
}

TEST(Prepare, StoredOperandsAreNoEdges) {
  const Model model =
      prepared(images("  c = conv2d(x, w=@v)\n  d = conv2d(c, w=@u)\n  const @k: f32[1, 1, 6, 6]\n"
                      "  s = add(a=d, b=@k)\n  e = conv2d(s, w=@v)\n  f = conv2d(e, w=@u)\n  return f\n"),
               "generic_int8", {{}, 4, 8});
  EXPECT_EQ(bits(model, "x.q"), 8);
  EXPECT_EQ(bits(model, "k.q"), 4);
}

// A5.21
TEST(Prepare, PaddedNumbersAreInTheRangeBehindThem) {
  const std::string body =
      "  const @fill: f32[]\n  c = conv2d(x, w=@v)\n  p = pad(c, value=@fill) {pads: [0, 0, 1, 1, 0, 0, 1, 1]}\n"
      "  d = conv2d(p, w=@u)\n  return d\n";
  Model model = images(body);
  const auto seen = [&] {
    const Model made = prepared(model);
    std::string names;
    for (const Value value : ops::ObserveRange(made.graph.op("c.observer").node()).x()) names += value.name() + " ";
    return names;
  };
  model.tensors.at("fill").data<float>()[0] = 3;
  EXPECT_EQ(seen(), "c p ") << "as often as it is there";
  model.tensors.at("fill").data<float>()[0] = 0;
  EXPECT_EQ(seen(), "c fill ");
  const Model both = prepared(model, "snpe");  // the padding has a quantizer of its own
  EXPECT_TRUE(both.graph.op("p.observer"));
  EXPECT_EQ(ops::ObserveRange(both.graph.op("c.observer").node()).x().size(), 2U);
  model.tensors.at("fill").data<float>()[0] = INFINITY;
  EXPECT_EQ(ops::ObserveRange(prepared(model).graph.op("c.observer").node()).x().size(), 1U);
}

TEST(Prepare, APadThatPutsNothingBesideElementsWidensNoRange) {
  const std::string body =
      "  const @fill: f32[]\n  c = conv2d(x, w=@v)\n  p = pad(c, value=@fill) {pads: [0, 0, -1, 0, 0, 0, -1, 0]}\n"
      "  d = conv2d(p, w=@u)\n  return d\n";
  EXPECT_EQ(ops::ObserveRange(prepared(images(body)).graph.op("c.observer").node()).x().size(), 1U);
}

/// MQBench only fuses norms. Some exporters write the bias of a layer as a sum behind it.
TEST(Prepare, PlatformsWithRulesTakeOnlyNormsAndBiasesIntoLayers) {
  const Model scaled = images("  const @two: f32[]\n  c = conv2d(x, w=@v)\n  m = mul(a=c, b=@two)\n  return m\n");
  EXPECT_FALSE(prepared(scaled).graph.op("m"));
  EXPECT_TRUE(prepared(scaled, "tensorrt").graph.op("m"));
  const Model summed = images("  param @b: f32[1, 4, 1, 1]\n  c = conv2d(x, w=@v)\n  s = add(a=c, b=@b)\n  return s\n");
  EXPECT_FALSE(prepared(summed, "tensorrt").graph.op("s"));
}

TEST(Prepare, AWeightThatTwoLayersReadHasAQuantizerForEach) {
  const Model model = prepared(images("  c = conv2d(x, w=@v)\n  d = conv2d(c, w=@v)\n  return d\n"));
  EXPECT_EQ(scale_of(model, "v.q"), "v.scale");
  EXPECT_EQ(model.graph.op("d").in(1).producer().name(), "v.q.2");
  EXPECT_EQ(scale_of(model, "v.q.2"), "v.2.scale");
}

TEST(Prepare, EdgesStayAtEightUnlessAsked) {
  const std::string body = "  a = conv2d(x, w=@w)\n  b = conv2d(a, w=@v)\n  c = conv2d(b, w=@u)\n  return c\n";
  const Model usual = prepared(images(body), "generic_int8", {4, 4, {}});
  for (const char* name : {"x.q", "w.q", "b.q", "u.q", "c.q"}) EXPECT_EQ(bits(usual, name), 8) << name;
  for (const char* name : {"a.q", "v.q"}) EXPECT_EQ(bits(usual, name), 4) << name;
  const Model asked = prepared(images(body), "generic_int8", {4, 4, 4});
  for (const char* name : {"x.q", "w.q", "a.q", "v.q", "b.q", "u.q", "c.q"}) EXPECT_EQ(bits(asked, name), 4) << name;
  const Model few = prepared(images(body), "generic_int8", {}, {{"weights.legal_bits", "[4]"}, {"weights.bits", "4"}});
  EXPECT_EQ(bits(few, "w.q"), 4);
  EXPECT_EQ(bits(few, "x.q"), 8);
}

/// A mean uses the quantizer of its input, and so the same scale.
// A10.13
TEST(Prepare, MeansKeepTheirScaleWhereThePlatformDoes) {
  const Model model = images("  c = conv2d(x, w=@w)\n  p = global_avg_pool(c)\n  return p\n");
  const Model shared = prepared(model, "pytorch_x86"), apart = prepared(model, "onnxruntime_int8");
  EXPECT_EQ(scale_of(shared, "p.q"), scale_of(shared, "c.q"));
  EXPECT_EQ(scale_of(shared, "p.q"), "p.scale");
  EXPECT_NE(scale_of(apart, "p.q"), scale_of(apart, "c.q"));
  EXPECT_EQ(bits(shared, "w.q"), 7);
  EXPECT_EQ(bits(shared, "c.q"), 8);
}

TEST(Prepare, LeavesTheRecordAndTheReasonsInTheModel) {
  const Model model = prepared(images("  c = conv2d(x, w=@w)\n  s = hardmax(c) {axis: 1}\n  return s\n"),
                               "generic_int8", {}, {{"activations.rate", "0.25"}});
  EXPECT_EQ(platform_of(model).rate, 0.25);
  EXPECT_EQ(model.metadata.float_operators, (FloatOperators{{"s", "hardmax has no integer implementation"}}));
  EXPECT_TRUE(is_prepared(model));
}

TEST(Prepare, ANetworkWithoutQuantizersIsNotPrepared) {
  Model model = images("  c = conv2d(x, w=@w)\n  return c\n");
  EXPECT_FALSE(is_prepared(model));
  EXPECT_EQ(diagnostic_of([&] { platform_of(model); }), errors::network_not_prepared());
  model.metadata.platform = PlatformRecord(load_platform("generic_int8").text);
  EXPECT_EQ(diagnostic_of([&] { platform_of(model); }), errors::network_not_prepared());
  Model once = prepared(images("  c = conv2d(x, w=@w)\n  return c\n"));
  once.metadata.platform = PlatformRecord("weights: 8\n");
  const auto all = diagnostics_of([&] { platform_of(once); });
  const Diagnostic section =
      test::at("the platform of the network:1: weights", errors::record_section_without_keys("no mapping"));
  EXPECT_NE(std::ranges::find(all, section), all.end());
}

/// The float form that quantizers are inserted into: normalizations are folded, single numbers are learned, and the
/// model does not change.
TEST(Prepare, TheFloatFormFoldsAndLearns) {
  const Model model = network(
      "graph g(x: f32[2, 4]) {\n  param @w: f32[1, 4]\n  const @b: f32[1]\n  param @scale: f32[1]\n"
      "  param @shift: f32[1]\n  state @mean: f32[1]\n  state @variance: f32[1]\n  c = linear(x, w=@w, b=@b)\n"
      "  n = batch_norm(c, scale=@scale, bias=@shift, mean=@mean, variance=@variance)\n  return n\n}\n");
  const Model form = float_form(model, load_platform("generic_int8"));
  EXPECT_EQ(form.graph.ops().size(), 1U);
  EXPECT_EQ(form.graph.tensor("b").role(), Role::parameter);
  EXPECT_EQ(model.graph.ops().size(), 2U);
  EXPECT_EQ(model.graph.tensor("b").role(), Role::constant);
}

TEST(Prepare, AlreadyQuantizedNetworksAreRefused) {
  const Model once = prepared(images("  c = conv2d(x, w=@w)\n  return c\n"));
  EXPECT_EQ(diagnostic_of([&] { prepared(once); }),
            on("x.q", 5, errors::network_quantized_already("", "fake_quantize")));
}

using Diagnostics = std::vector<Diagnostic>;

TEST(Prepare, IllegalBitWidthsAreRefused) {
  const Model model = images("  c = conv2d(x, w=@w)\n  d = conv2d(c, w=@v)\n  e = conv2d(d, w=@u)\n  return e\n");
  const test::Overrides any = {{"channels.multiple", "1"}};
  const auto refused = [&](const char* platform, const PrepareOptions& options, const test::Overrides& overrides = {}) {
    return bare(diagnostics_of([&] { prepared(model, platform, options, overrides); }));
  };
  EXPECT_EQ(refused("magik_t40", {5, {}, {}}, any),
            (Diagnostics{on("d", 6, errors::bits_not_legal("weights", "magik_t40", 5, "4, 8"))}));
  const Diagnostic six = errors::bits_not_legal("activations", "pow2_int8", 6, "4, 8");
  EXPECT_EQ(refused("pow2_int8", {{}, 6, {}}), (Diagnostics{on("c", 5, six), on("d", 6, six)}));
  const Diagnostic activations = errors::bits_not_legal("activations", "generic_int8", 9, "2, 3, 4, 5, 6, 7, 8");
  const Diagnostic weights = errors::bits_not_legal("weights", "generic_int8", 9, "2, 3, 4, 5, 6, 7, 8");
  EXPECT_EQ(refused("generic_int8", {{}, {}, 9}),
            (Diagnostics{on("c", 5, activations), on("c", 5, weights), on("d", 6, activations), on("e", 7, activations),
                         on("e", 7, weights)}));
  EXPECT_EQ(kind_of([&] { prepared(model, "generic_int8", {{}, {}, 9}); }), ErrorKind::unsupported);
}

/// A layer of 4 channels on magik_t40, without the remedy.
Diagnostic narrow() { return bare({errors::channels_not_a_multiple("magik_t40", 32, 3, 4, 4, "")})[0]; }

TEST(Prepare, ChannelMultiplesOfTheChip) {
  const Model model = images("  c = conv2d(x, w=@w)\n  return c\n");
  EXPECT_EQ(bare(diagnostics_of([&] {
              prepared(model, "magik_t40", {}, {{"channels.above", "3"}});
            })),
            Diagnostics{on("c", 5, narrow())});
  EXPECT_NO_THROW(prepared(model, "magik_t40", {}, {{"channels.above", "4"}}));
  const Model matrices =
      network("graph g(x: f32[2, 5]) {\n  param @w: f32[3, 5]\n  y = linear(x, w=@w)\n  return y\n}\n");
  EXPECT_NO_THROW(prepared(matrices, "magik_t40", {}, {{"channels.above", "3"}}));
}

TEST(Prepare, EverythingIsRefusedAtOnce) {
  Model model = images(
      "  c = conv2d(x, w=@w)\n  s = sigmoid(c)\n  d = conv2d(s, w=@v)\n  p = max_pool2d(d) {kernel: [2, 2], stride: "
      "[2, "
      "2]}\n  return p\n");
  model.tensors.at("v").data<float>()[3] = NAN;
  const auto platform = load_platform("magik_t40", {{"channels.above", "3"}});
  std::vector<Diagnostic> objections;
  const Model despite = prepare_with_objections(model, platform, {{}, 10, {}, {}}, objections);
  EXPECT_TRUE(is_prepared(despite));
  EXPECT_EQ(bare(objections),
            (Diagnostics{on("c", 5, narrow()),
                         on("s", 6,
                            errors::bits_not_legal("activations", "magik_t40", 10,
                                                   "4, 8 (tables of sigmoid and silu have 4- or 8-bit codes)")),
                         on("d", 7, bare({errors::elements_not_finite("v", 1, "")})[0]), on("d", 7, narrow())}));
  EXPECT_EQ(diagnostics_of([&] { prepare(model, platform, {{}, 10, {}, {}}); }), objections);
}

TEST(Prepare, LayersStayInFloatWhenTheyAreAskedTo) {
  const Model model =
      images("  c = conv2d(x, w=@w)\n  r = relu(c)\n  d = conv2d(r, w=@v)\n  e = conv2d(d, w=@u)\n  return e\n");
  const auto fallbacks = [&](const std::vector<std::string>& patterns) {
    std::string names;
    for (const auto& fallback : float_fallback(prepared(model, "generic_int8", {{}, {}, {}, patterns})))
      names += fallback.layer + " (" + fallback.reason + ") ";
    return names;
  };
  EXPECT_EQ(fallbacks({}), "");
  EXPECT_EQ(fallbacks({"d"}), "d (asked for as 'd') ");
  EXPECT_EQ(fallbacks({"r"}), "r (asked for as 'r') ");  // it would have been fused
  EXPECT_EQ(fallbacks({"c", "[d]"}),
            "c (asked for as 'c') r (its inputs are all float values) d (asked for as '[d]') ");
  const Diagnostic asked = errors::layer_stays_in_float("", "conv2d: asked for as '*'", "");
  auto all = diagnostics_of([&] { fallbacks({"*"}); });
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0], errors::network_without_layer("g", ""));
  all.erase(all.begin());
  EXPECT_EQ(bare(all), (Diagnostics{on("c", 5, asked), on("d", 7, asked), on("e", 8, asked)}));
  EXPECT_EQ(diagnostic_of([&] { fallbacks({"conv"}); }),
            errors::selector_matches_nothing("skip_layers", "conv", "; there are c, r, d, e"));
  EXPECT_EQ(activation_quantizers(prepared(model, "generic_int8", {{}, {}, {}, {"d"}})),
            (std::vector<std::string>{"x.q", "r.q", "d.q", "e.q"}));
}

/// After padding, the chip accepts the network. Layers in float are not padded.
TEST(Prepare, ZerosMakeChannelsWhole) {
  const Model model = images("  c = conv2d(x, w=@w)\n  d = conv2d(c, w=@v)\n  e = conv2d(d, w=@u)\n  return e\n");
  const auto platform = load_platform("magik_t40", {{"channels.above", "3"}});
  const PadResult padded = pad_channels(model, platform);
  EXPECT_EQ(padded.layers, (std::vector<std::string>{"c", "d", "e"}));
  EXPECT_NO_THROW(prepare(padded.model, platform));
  EXPECT_EQ(padded.model.graph.outputs().front().dims(), model.graph.outputs().front().dims());
  const PrepareOptions options{{}, {}, {}, {"d"}};
  const PadResult partly = pad_channels(model, platform, options);
  EXPECT_EQ(partly.layers, (std::vector<std::string>{"c", "d", "e"}));  // d produces the input of e
  EXPECT_EQ(partly.model.tensors.at("v").dims(), (Dims{32, 4, 1, 1}));
  EXPECT_NO_THROW(prepare(partly.model, platform, options));
  EXPECT_TRUE(pad_channels(model, load_platform("generic_int8")).layers.empty());
}

TEST(Prepare, OperatorsThatTheTargetLacksAreRefused) {
  const Model model =
      images("  c = conv2d(x, w=@w)\n  p = avg_pool2d(c) {kernel: [2, 2], stride: [2, 2]}\n  return p\n");
  EXPECT_EQ(bare(diagnostics_of([&] {
              prepared(model, "generic_int8", {}, {{"legal", "[{op: avg_pool2d, refused: true, reason: no windows}]"}});
            })),
            Diagnostics{on("p", 6, errors::operator_refused("generic_int8", "avg_pool2d", "no windows"))});
}

TEST(Prepare, StoredIndicesOutsideOfTheResultAreNamed) {
  Model model = network(
      "graph g(x: f32[1, 2, 4, 4]) {\n  param @w: f32[3, 2, 3, 3]\n  const @places: i64[1, 3, 1, 1]\n"
      "  c = conv2d(x, w=@w) {stride: [2, 2]}\n"
      "  u = max_unpool(x=c, indices=@places) {kernel: [2, 2], dims: [1, 3, 2, 3]}\n  return u\n}\n");
  const auto place = [&](int64_t index) { model.tensors.at("places").data<int64_t>()[2] = index; };
  place(11);  // the last of the pool's input [1, 3, 2, 2]
  EXPECT_NO_THROW(prepared(model));
  for (const int64_t outside : {-1, 12}) {
    place(outside);
    EXPECT_EQ(diagnostic_of([&] { prepared(model); }), on("u", 5, errors::stored_index_outside("places", outside)));
  }
}

TEST(Prepare, NumbersThatHaveNoCodeAreNamed) {
  Model model = images("  c = conv2d(x, w=@w)\n  return c\n");
  model.tensors.at("w").data<float>()[3] = NAN;
  model.tensors.at("w").data<float>()[5] = INFINITY;
  EXPECT_EQ(diagnostic_of([&] { prepared(model); }), on("c", 5, errors::elements_not_finite("w", 2, "conv2d")));
  Model biased = network(
      "graph g(x: f32[2, 4]) {\n  param @w: f32[3, 4]\n  param @b: f32[3]\n  y = linear(x, w=@w, "
      "b=@b)\n  return y\n}\n");
  biased.tensors.at("b").data<float>()[0] = -INFINITY;
  EXPECT_EQ(diagnostic_of([&] { prepared(biased); }), on("y", 4, errors::elements_not_finite("b", 1, "linear")));
}

// A6.2
TEST(Prepare, SumsThatNoZeroPointKeepsInBoundsAreRefused) {
  const Model model = network(
      "graph g(x: f32[1, 4, 70000, 70000]) {\n  param @v: f32[4, 4, 1, 1]\n  c = conv2d(x, w=@v)\n"
      "  p = global_avg_pool(c)\n  y = conv2d(p, w=@v)\n  return y\n}\n");
  const test::Overrides wide = {{"activations.legal_bits", "[8, 16]"}};
  EXPECT_NO_THROW(prepared(model, "generic_int8", {{}, 8, {}}, wide));
  EXPECT_EQ(diagnostic_of([&] {
              prepared(model, "generic_int8", {{}, 16, {}}, wide);
            }),
            on("p", 4, errors::accumulator_overflow("", 160563200000000, 140737488355328, " or a smaller window")));
}

TEST(Prepare, OptionsThatDoNotFitAreRefused) {
  const Model model = images("  c = conv2d(x, w=@w)\n  return c\n");
  PrepareOptions options;
  options.also = {"c"};
  EXPECT_EQ(diagnostic_of([&] { prepared(model, "generic_int8", options); }),
            errors::also_without_insertion_rules("c", "generic_int8"));
  PrepareOptions live;
  live.batch_norm = BatchNorms::live;
  EXPECT_EQ(diagnostic_of([&] { prepared(model, "generic_int8", live); }), errors::no_batch_norm_to_train("g"));
  const Model normalized = network(
      "graph g(x: f32[2, 4]) {\n  param @w: f32[4, 4]\n  param @scale: f32[4]\n  param @shift: f32[4]\n"
      "  state @mean: f32[4]\n  state @variance: f32[4]\n  c = linear(x, w=@w)\n"
      "  n = batch_norm(c, scale=@scale, bias=@shift, mean=@mean, variance=@variance)\n  return n\n}\n");
  EXPECT_EQ(diagnostic_of([&] {
              prepared(normalized, "generic_int8", live, {{"weights.quantizer", "adaround"}});
            }),
            errors::quantizer_kind_rewrites_weights("generic_int8", "adaround"));
}

/// A common scale for scores and for the values that hide them would leave no codes for the scores.
TEST(Prepare, MasksHaveNoQuantizerWhereRulesSayWhatHas) {
  Model model = network(
      "graph g(x: f32[4, 4]) {\n  param @w: f32[4, 4]\n  const @m: f32[4, 4]\n  l = linear(x, w=@w)\n"
      "  s = add(a=l, b=@m)\n  y = softmax(s)\n  z = add(a=y, b=x)\n  return z\n}\n");
  for (size_t i = 0; i < 16; ++i)
    model.tensors.at("m").data<float>()[i] = i % 4 > i / 4 ? -std::numeric_limits<float>::infinity() : 0.0F;
  const auto places = [&](const test::Overrides& overrides) {
    return test::activation_quantizers(prepared(model, "tengine_u8", {}, overrides));
  };
  EXPECT_EQ(places({}), (std::vector<std::string>{"x.q", "l.q", "y.q", "z.q"}));
  EXPECT_FALSE(prepared(model, "tengine_u8").graph.op("m.q"));
  EXPECT_TRUE(prepared(model, "tengine_u8", {}, {{"insert.as", "mqbench"}}).graph.op("m.q"));
  EXPECT_EQ(places({{"insert.as", "mqbench"}}), (std::vector<std::string>{"x.q", "l.q", "s.q", "y.q", "z.q"}));
}

}  // namespace
}  // namespace halfstep::quant

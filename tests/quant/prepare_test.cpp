// Where quantizers go, how wide they are, and what preparation refuses.
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/passes/graph/separate_names.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/float_form.h"
#include "halfstep/quant/prepare/float_islands.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::error_of;
using test::feature_quantizers;
using test::images;
using test::kind_of;
using test::network;
using test::prepared;
using test::quantizer;

using Names = std::vector<std::string>;

int bits(const Model& model, const std::string& name) { return bits_of(quantizer(model, name)); }

std::string scale_of(const Model& model, const std::string& name) {
  return passes::scale_tensor(quantizer(model, name)).name();
}

/// What is left out has a say in names, as it has in the network that came in.
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
  EXPECT_EQ(feature_quantizers(model), (Names{"x.q", "c.q"}));
}

TEST(Prepare, QuantizesInputsAndFusedResultsOnly) {
  const Model model = prepared(
      images("  c = conv2d(x, w=@w) {pad: [1, 1, 1, 1]}\n  r = relu(c)\n  p = max_pool2d(r) {kernel: [2, 2], stride: "
             "[2, 2]}\n  d = conv2d(p, w=@v)\n  return d\n"));
  EXPECT_EQ(feature_quantizers(model), (Names{"x.q", "r.q", "d.q"}));
}

TEST(Prepare, ActivationsWithTwoReadersOfTheirInputBecomeTables) {
  const Model model = prepared(images("  c = conv2d(x, w=@w)\n  r = relu(c)\n  s = add(a=r, b=c)\n  return s\n"));
  EXPECT_EQ(feature_quantizers(model), (Names{"x.q", "c.q", "r.q", "s.q"}));
}

TEST(Prepare, SigmoidAndSiluBecomeTables) {
  const Model model = prepared(images("  c = conv2d(x, w=@w)\n  s = silu(c)\n  t = sigmoid(s)\n  return t\n"));
  EXPECT_EQ(feature_quantizers(model), (Names{"x.q", "c.q", "s.q", "t.q"}));
}

TEST(Prepare, ConcatInputsShareOneScale) {
  const Model model =
      prepared(images("  c = conv2d(x, w=@v)\n  d = conv2d(x, w=@u)\n  k = concat(x=[c, d])\n  e = concat(x=[k, x])\n"
                      "  return e\n"));
  EXPECT_EQ(feature_quantizers(model), (Names{"x.q", "c.q", "d.q"}));
  for (const char* name : {"x.q", "c.q", "d.q"}) EXPECT_EQ(scale_of(model, name), "e.scale") << name;
  EXPECT_EQ(ops::ObserveRange(model.graph.op("e.observer").node()).x().size(), 3U);
}

/// The widest of those that share a scale decides; an operator that computes has a scale of its own.
TEST(Prepare, WhatSharesAScaleIsAsWideAsTheWidest) {
  const Model model = prepared(images("  c = conv2d(x, w=@v)\n  d = conv2d(c, w=@u)\n  s = add(a=c, b=d)\n"
                                      "  e = conv2d(d, w=@v)\n  y = add(a=s, b=e)\n  return y\n"),
                               "generic_int8", {{}, 4, {}}, {{"share_scales", "[add]"}});
  EXPECT_EQ(scale_of(model, "c.q"), "s.inputs.scale");
  EXPECT_EQ(scale_of(model, "d.q"), "s.inputs.scale");
  EXPECT_EQ(bits(model, "c.q"), 8);  // d goes into the last layer
  EXPECT_EQ(scale_of(model, "y.q"), "y.scale");
  EXPECT_EQ(bits(model, "y.q"), 4);
}

/// What a loop gives has its scale inside, and so has what another region reads of it.
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

/// MQBench fuses norms alone. A sum behind a layer without a bias is how some exporters write one.
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

/// A mean has the quantizer of what it reads, and so the same scale.
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
  const Model model = prepared(images("  c = conv2d(x, w=@w)\n  s = log_softmax(c) {axis: 1}\n  return s\n"),
                               "generic_int8", {}, {{"features.rate", "0.25"}});
  EXPECT_EQ(platform_of(model).rate, 0.25);
  EXPECT_EQ(float_operators(model), (FloatOperators{{"s", "log_softmax has no form on codes"}}));
  EXPECT_TRUE(is_prepared(model));
}

TEST(Prepare, ANetworkWithoutQuantizersIsNotPrepared) {
  Model model = images("  c = conv2d(x, w=@w)\n  return c\n");
  EXPECT_FALSE(is_prepared(model));
  EXPECT_EQ(error_of([&] { platform_of(model); }), "the network is not prepared; run quantize first");
  model.notes["platform"] = load_platform("generic_int8").text;
  EXPECT_EQ(error_of([&] { platform_of(model); }), "the network is not prepared; run quantize first");
  Model once = prepared(images("  c = conv2d(x, w=@w)\n  return c\n"));
  once.notes["platform"] = "weights: 8\n";
  EXPECT_NE(error_of([&] { platform_of(once); }).find("note 'platform' of the network:1: weights: found no mapping"),
            std::string::npos);
}

/// The float form is what quantizers go into: normalizations folded, single numbers learned, the model untouched.
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
  EXPECT_EQ(
      error_of([&] { prepared(once); }),
      "g.ir:5: node 'x.q': fake_quantize: the network is quantized already, expected its float form; give the float "
      "network that it was made of");
}

/// What to do about widths.
const std::string kOthers =
    "; ask for one of these (--weights, --features, --edges), or keep the layer in float (--float NAME)";

TEST(Prepare, IllegalWidthsAreRefused) {
  const Model model = images("  c = conv2d(x, w=@w)\n  d = conv2d(c, w=@v)\n  e = conv2d(d, w=@u)\n  return e\n");
  const test::Overrides any = {{"channels.multiple", "1"}};
  EXPECT_EQ(error_of([&] {
              prepared(model, "magik_t40", {5, {}, {}}, any);
            }),
            "g.ir:6: node 'd': weights on magik_t40: found 5 bits, expected 4, 8" + kOthers);
  EXPECT_EQ(error_of([&] {
              prepared(model, "pow2_int8", {{}, 6, {}});
            }),
            "g.ir:5: node 'c': features on pow2_int8: found 6 bits, expected 4, 8" + kOthers +
                "; the same at g.ir:6: node 'd'");
  EXPECT_EQ(error_of([&] {
              prepared(model, "generic_int8", {{}, {}, 9});
            }),
            "g.ir:5: node 'c': features on generic_int8: found 9 bits, expected 2, 3, 4, 5, 6, 7, 8" + kOthers +
                "; the same at g.ir:6: node 'd', g.ir:7: node 'e'; g.ir:5: node 'c': weights on generic_int8: found 9 "
                "bits, expected 2, 3, 4, 5, 6, 7, 8" +
                kOthers + "; the same at g.ir:7: node 'e'");
  EXPECT_EQ(kind_of([&] { prepared(model, "generic_int8", {{}, {}, 9}); }), ErrorKind::unsupported);
}

TEST(Prepare, ChannelMultiplesOfTheChip) {
  const Model model = images("  c = conv2d(x, w=@w)\n  return c\n");
  EXPECT_EQ(error_of([&] {
              prepared(model, "magik_t40", {}, {{"channels.above", "3"}});
            }),
            "g.ir:5: node 'c': magik_t40 needs channels in multiples of 32 above 3: found 4 in and 4 out; pad it with "
            "zeros (--pad-channels), or keep the layer in float (--float NAME)");
  EXPECT_EQ(error_of([&] { prepared(model, "magik_t40", {}, {{"channels.above", "4"}}); }), "no error");
  const Model matrices =
      network("graph g(x: f32[2, 5]) {\n  param @w: f32[3, 5]\n  y = linear(x, w=@w)\n  return y\n}\n");
  EXPECT_EQ(error_of([&] { prepared(matrices, "magik_t40", {}, {{"channels.above", "3"}}); }), "no error");
}

TEST(Prepare, EverythingIsRefusedAtOnce) {
  Model model = images(
      "  c = conv2d(x, w=@w)\n  s = sigmoid(c)\n  d = conv2d(s, w=@v)\n  p = max_pool2d(d) {kernel: [2, 2], stride: "
      "[2, "
      "2]}\n  return p\n");
  model.tensors.at("v").data<float>()[3] = NAN;
  const auto platform = load_platform("magik_t40", {{"channels.above", "3"}});
  std::vector<Objection> objections;
  const Model despite = prepare(model, platform, {{}, 10, {}, {}}, &objections);
  EXPECT_TRUE(is_prepared(despite));
  std::vector<std::string> said;
  for (const Objection& one : objections) said.push_back(one.layer + ": " + one.what + ", " + one.found);
  EXPECT_EQ(said, (std::vector<std::string>{"c: magik_t40 needs channels in multiples of 32 above 3, 4 in and 4 out",
                                            "s: features on magik_t40, 10 bits",
                                            "d: 'v' has 1 elements that are NaN or infinite, ",
                                            "d: magik_t40 needs channels in multiples of 32 above 3, 4 in and 4 out"}));
  EXPECT_EQ(error_of([&] { prepare(model, platform, {{}, 10, {}, {}}); }), Refusal(objections).what());
}

TEST(Prepare, LayersStayInFloatWhenTheyAreAskedTo) {
  const Model model =
      images("  c = conv2d(x, w=@w)\n  r = relu(c)\n  d = conv2d(r, w=@v)\n  e = conv2d(d, w=@u)\n  return e\n");
  const auto islands = [&](const std::vector<std::string>& patterns) {
    std::string names;
    for (const auto& island : float_islands(prepared(model, "generic_int8", {{}, {}, {}, patterns})))
      names += island.layer + " (" + island.reason + ") ";
    return names;
  };
  EXPECT_EQ(islands({}), "");
  EXPECT_EQ(islands({"d"}), "d (asked for as 'd') ");
  EXPECT_EQ(islands({"r"}), "r (asked for as 'r') ");  // it would have been fused
  EXPECT_EQ(islands({"c", "[d]"}), "c (asked for as 'c') r (only reals come to it) d (asked for as '[d]') ");
  EXPECT_EQ(
      error_of([&] { islands({"*"}); }),
      "network 'g': found no operator with weights that can have codes, expected at least one; change one of these, "
      "or run the network in float (halfstep run); g.ir:5: node 'c': conv2d: asked for as '*'; leave it out of "
      "what stays in float (--float); the same at g.ir:7: node 'd', g.ir:8: node 'e'");
  EXPECT_EQ(error_of([&] { islands({"conv"}); }), "float 'conv': matches no layer; there are c, r, d, e");
  EXPECT_EQ(feature_quantizers(prepared(model, "generic_int8", {{}, {}, {}, {"d"}})),
            (std::vector<std::string>{"x.q", "r.q", "d.q", "e.q"}));
}

/// Padded, the network is what the chip takes; layers in float stay as narrow as they were.
TEST(Prepare, ZerosMakeChannelsWhole) {
  const Model model = images("  c = conv2d(x, w=@w)\n  d = conv2d(c, w=@v)\n  e = conv2d(d, w=@u)\n  return e\n");
  const auto platform = load_platform("magik_t40", {{"channels.above", "3"}});
  const Padded padded = pad_channels(model, platform);
  EXPECT_EQ(padded.layers, (std::vector<std::string>{"c", "d", "e"}));
  EXPECT_EQ(error_of([&] { prepare(padded.model, platform); }), "no error");
  EXPECT_EQ(padded.model.graph.outputs().front().dims(), model.graph.outputs().front().dims());
  const PrepareOptions options{{}, {}, {}, {"d"}};
  const Padded partly = pad_channels(model, platform, options);
  EXPECT_EQ(partly.layers, (std::vector<std::string>{"c", "d", "e"}));  // d gives what e reads
  EXPECT_EQ(partly.model.tensors.at("v").dims(), (Dims{32, 4, 1, 1}));
  EXPECT_EQ(error_of([&] { prepare(partly.model, platform, options); }), "no error");
  EXPECT_TRUE(pad_channels(model, load_platform("generic_int8")).layers.empty());
}

TEST(Prepare, OperatorsThatTheTargetLacksAreRefused) {
  const Model model =
      images("  c = conv2d(x, w=@w)\n  p = avg_pool2d(c) {kernel: [2, 2], stride: [2, 2]}\n  return p\n");
  EXPECT_EQ(error_of([&] {
              prepared(model, "generic_int8", {}, {{"legal", "[{op: avg_pool2d, refused: true, reason: no windows}]"}});
            }),
            "g.ir:6: node 'p': generic_int8 has no avg_pool2d: no windows; keep the layer in float (--float NAME)");
}

TEST(Prepare, NumbersThatHaveNoCodeAreNamed) {
  Model model = images("  c = conv2d(x, w=@w)\n  return c\n");
  model.tensors.at("w").data<float>()[3] = NAN;
  model.tensors.at("w").data<float>()[5] = INFINITY;
  EXPECT_EQ(error_of([&] { prepared(model); }),
            "g.ir:5: node 'c': 'w' has 2 elements that are NaN or infinite, expected numbers; they came in so, or a "
            "normalization behind this conv2d makes them");
  Model biased = network(
      "graph g(x: f32[2, 4]) {\n  param @w: f32[3, 4]\n  param @b: f32[3]\n  y = linear(x, w=@w, "
      "b=@b)\n  return y\n}\n");
  biased.tensors.at("b").data<float>()[0] = -INFINITY;
  EXPECT_EQ(error_of([&] { prepared(biased); }),
            "g.ir:4: node 'y': 'b' has 1 elements that are NaN or infinite, expected numbers; they came in so, or a "
            "normalization behind this linear makes them");
}

TEST(Prepare, SumsThatNoZeroPointKeepsInBoundsAreRefused) {
  const Model model = network(
      "graph g(x: f32[1, 4, 70000, 70000]) {\n  param @v: f32[4, 4, 1, 1]\n  c = conv2d(x, w=@v)\n"
      "  p = global_avg_pool(c)\n  y = conv2d(p, w=@v)\n  return y\n}\n");
  const test::Overrides wide = {{"features.legal_bits", "[8, 16]"}};
  EXPECT_EQ(error_of([&] { prepared(model, "generic_int8", {{}, 8, {}}, wide); }), "no error");
  EXPECT_EQ(error_of([&] {
              prepared(model, "generic_int8", {{}, 16, {}}, wide);
            }),
            "g.ir:4: node 'p': the accumulator can reach 160563200000000, expected at most 140737488355328; use fewer "
            "bits or a "
            "smaller window, or keep the layer in float (--float NAME)");
}

/// A scale for scores and what hides them would leave the scores no codes.
TEST(Prepare, MasksHaveNoQuantizerWhereRulesSayWhatHas) {
  Model model = network(
      "graph g(x: f32[4, 4]) {\n  param @w: f32[4, 4]\n  const @m: f32[4, 4]\n  l = linear(x, w=@w)\n"
      "  s = add(a=l, b=@m)\n  y = softmax(s)\n  z = add(a=y, b=x)\n  return z\n}\n");
  for (size_t i = 0; i < 16; ++i)
    model.tensors.at("m").data<float>()[i] = i % 4 > i / 4 ? -std::numeric_limits<float>::infinity() : 0.0F;
  const auto places = [&](const test::Overrides& overrides) {
    return test::feature_quantizers(prepared(model, "tengine_u8", {}, overrides));
  };
  EXPECT_EQ(places({}), (std::vector<std::string>{"x.q", "l.q", "y.q", "z.q"}));
  EXPECT_FALSE(prepared(model, "tengine_u8").graph.op("m.q"));
  EXPECT_TRUE(prepared(model, "tengine_u8", {}, {{"insert.as", "mqbench"}}).graph.op("m.q"));
  EXPECT_EQ(places({{"insert.as", "mqbench"}}), (std::vector<std::string>{"x.q", "l.q", "s.q", "y.q", "z.q"}));
}

}  // namespace
}  // namespace halfstep::quant

// Insertion of quantizers, widths, the audit, and what a platform refuses.
#include <gtest/gtest.h>

#include <fstream>

#include "halfstep/ir/parse.h"
#include "halfstep/ir/print.h"
#include "halfstep/passes/quantized_steps.h"
#include "halfstep/quant/quantizer.h"
#include "tests/roads/fixture.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::test {
namespace {

Model network(const std::string& body, const std::string& input = "f32[?, 32, 8, 8]") {
  const std::string text =
      "graph g(x: " + input + ") {\n  param @w: f32[32, 32, 3, 3]\n  param @v: f32[32, 32, 3, 3]\n" + body + "}\n";
  return train::initialize(parse(text, "g.ir"), 1);
}

Model prepared(const std::string& body, const std::string& platform = "generic_int8",
               quant::PrepareOptions widths = {}) {
  return quant::prepare(network(body), quant::load_platform(platform), widths);
}

std::vector<std::string> feature_quantizers(const Model& model) {
  std::vector<std::string> names;
  for (const auto& q : model.graph.all<ops::FakeQuantize>()) {
    if (!q.x().is_tensor()) names.push_back(q.name());
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Prepare, QuantizesInputsAndFusedResultsOnly) {
  const Model model = prepared(
      "  c = conv2d(x=x, w=@w) {pad: [1, 1, 1, 1]}\n  r = relu(x=c)\n  p = max_pool2d(x=r) {kernel: [2, 2], stride: "
      "[2, 2]}\n"
      "  d = conv2d(x=p, w=@v)\n  return d\n");
  EXPECT_EQ(feature_quantizers(model), (Names{"x.q", "r.q", "d.q"}));
}

TEST(Prepare, ActivationWithTwoReadersOfItsInputBecomesATable) {
  const Model model =
      prepared("  c = conv2d(x=x, w=@w) {pad: [1, 1, 1, 1]}\n  r = relu(x=c)\n  s = add(a=r, b=c)\n  return s\n");
  EXPECT_EQ(feature_quantizers(model), (Names{"x.q", "c.q", "r.q", "s.q"}));
}

TEST(Prepare, ConcatInputsShareOneScale) {
  const Model model = prepared(
      "  c = conv2d(x=x, w=@w) {pad: [1, 1, 1, 1]}\n  d = conv2d(x=x, w=@v) {pad: [1, 1, 1, 1]}\n  k = concat(x=[c, "
      "d])\n  return k\n");
  const auto c = ops::FakeQuantize(model.graph.op("c.q").node());
  const auto d = ops::FakeQuantize(model.graph.op("d.q").node());
  EXPECT_EQ(c.scale(), d.scale());
  EXPECT_EQ(c.scale().name(), "k.scale");
  EXPECT_EQ(ops::ObserveRange(model.graph.op("k.observer").node()).x().size(), 2U);
}

TEST(Prepare, SigmoidAndSiluBecomeTables) {
  const Model model = prepared("  c = conv2d(x=x, w=@w)\n  s = silu(x=c)\n  t = sigmoid(x=s)\n  return t\n");
  EXPECT_EQ(feature_quantizers(model), (Names{"x.q", "c.q", "s.q", "t.q"}));
}

TEST(Prepare, EdgesStayAtEightUnlessAsked) {
  const std::string body =
      "  param @u: f32[32, 32, 3, 3]\n  a = conv2d(x=x, w=@w)\n  b = conv2d(x=a, w=@v)\n  c = conv2d(x=b, w=@u)\n  "
      "return c\n";
  const auto bits = [](const Model& model, const char* name) {
    return quant::bits_of(ops::FakeQuantize(model.graph.op(name).node()));
  };
  const Model usual = prepared(body, "generic_int8", {4, 4, {}});
  EXPECT_EQ(bits(usual, "x.q"), 8);
  EXPECT_EQ(bits(usual, "w.q"), 8);
  EXPECT_EQ(bits(usual, "a.q"), 4);
  EXPECT_EQ(bits(usual, "v.q"), 4);
  EXPECT_EQ(bits(usual, "b.q"), 8);
  EXPECT_EQ(bits(usual, "u.q"), 8);
  EXPECT_EQ(bits(usual, "c.q"), 8);
  const Model asked = prepared(body, "generic_int8", {4, 4, 4});
  for (const char* name : {"x.q", "w.q", "a.q", "v.q", "b.q", "u.q", "c.q"}) EXPECT_EQ(bits(asked, name), 4) << name;
}

TEST(Prepare, AuditNamesEveryLayerAndFindsAFloatOne) {
  Model model = prepared("  c = conv2d(x=x, w=@w)\n  r = relu(x=c)\n  d = conv2d(x=r, w=@v)\n  return d\n");
  auto rows = quant::audit(model);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0].fully_quantized && rows[1].fully_quantized);
  EXPECT_EQ(rows[0].weight, "8 bits per channel, observed");
  const Op d = model.graph.op("d");
  d.set_operand(d.info().quant.weight, model.graph.tensor("v"));
  rows = quant::audit(model);
  EXPECT_FALSE(rows[1].fully_quantized);
  EXPECT_EQ(rows[1].weight, "float: the weight has no quantizer");
  EXPECT_EQ(error_of([&] { quant::convert(model); }), "g.ir:6: node 'd': the weight of this conv2d has no quantizer");
}

TEST(Prepare, RefusesIllegalWidths) {
  const std::string body = "  c = conv2d(x=x, w=@w)\n  d = conv2d(x=c, w=@v)\n  e = conv2d(x=d, w=@v)\n  return e\n";
  EXPECT_EQ(error_of([&] {
              prepared(body, "magik_t40", {5, {}, {}});
            }),
            "g.ir:5: node 'd': magik_t40 cannot have weights of 5 bits, expected 4, 8");
  EXPECT_EQ(error_of([&] {
              prepared(body, "pow2_int8", {{}, 6, {}});
            }),
            "g.ir:4: node 'c': pow2_int8 cannot have features of 6 bits, expected 4, 8");
}

TEST(Prepare, RefusesAQuantizedNetwork) {
  const Model once = prepared("  c = conv2d(x=x, w=@w)\n  return c\n");
  EXPECT_EQ(error_of([&] { quant::prepare(once, quant::load_platform("generic_int8")); }),
            "g.ir:4: node 'x.q': fake_quantize: the network is quantized already, expected its float form");
}

TEST(Prepare, ChannelMultiplesOfTheChip) {
  const std::string text =
      "graph g(x: f32[?, 20, 8, 8]) {\n  param @w: f32[32, 20, 3, 3]\n  c = conv2d(x=x, w=@w)\n  return c\n}\n";
  EXPECT_EQ(
      error_of([&] { quant::prepare(train::initialize(parse(text, "g.ir"), 1), quant::load_platform("magik_t40")); }),
      "g.ir:3: node 'c': magik_t40 needs channels in multiples of 32 above 12: found 20 in and 32 out; widen the "
      "layer");
}

/// A mean has the quantizer of what it reads, and so the same scale; edges have no more weight bits than are legal.
TEST(Prepare, MeansKeepTheirScale) {
  const std::string body = "  c = conv2d(x=x, w=@w)\n  p = global_avg_pool(x=c)\n  return p\n";
  const Model shared = prepared(body, "pytorch_x86"), apart = prepared(body, "onnxruntime_int8");
  const auto scale = [](const Model& model, const char* name) {
    return passes::scale_tensor(ops::FakeQuantize(model.graph.op(name).node())).name();
  };
  EXPECT_EQ(scale(shared, "p.q"), scale(shared, "c.q"));
  EXPECT_NE(scale(apart, "p.q"), scale(apart, "c.q"));
  EXPECT_EQ(quant::bits_of(ops::FakeQuantize(shared.graph.op("w.q").node())), 7);
  EXPECT_EQ(quant::bits_of(ops::FakeQuantize(shared.graph.op("c.q").node())), 8);
}

TEST(Prepare, RefusesOperatorsThatTheTargetLacks) {
  const TemporaryFolder folder;
  std::ifstream known(HALFSTEP_SOURCE_DIR "/platforms/onnxruntime_int8.yaml");
  std::string text(std::istreambuf_iterator<char>(known), {});
  text.replace(text.find("legal: []"), 9, "legal:\n  - {op: avg_pool2d, refused: true, reason: it has no windows}");
  std::ofstream(folder / "windowless.yaml") << text;
  EXPECT_EQ(error_of([&] {
              prepared("  c = conv2d(x=x, w=@w)\n  p = avg_pool2d(x=c) {kernel: [2, 2], stride: [2, 2]}\n  return p\n",
                       (folder / "windowless.yaml").string());
            }),
            "g.ir:5: node 'p': onnxruntime_int8 has no avg_pool2d: it has no windows");
}

TEST(SetBits, ChangesWidthsAtAnyTime) {
  Prepared p("generic_int8");
  quant::set_bits(p.model, "conv[345]", 4, 4);
  EXPECT_EQ(quant::bits_of(ops::FakeQuantize(p.model.graph.op("conv4.w.q").node())), 4);
  EXPECT_EQ(quant::bits_of(ops::FakeQuantize(p.model.graph.op("relu4.q").node())), 4);
  EXPECT_TRUE(quant::is_learned(ops::FakeQuantize(p.model.graph.op("relu4.q").node())));
  EXPECT_TRUE(p.compare(api::roads_of(p.model, quant::convert(p.model).model)).equal());
  quant::set_bits(p.model, "*", 8, 8);
  EXPECT_FALSE(quant::is_learned(ops::FakeQuantize(p.model.graph.op("relu4.q").node())));
  EXPECT_TRUE(p.compare(api::roads_of(p.model, quant::convert(p.model).model)).equal());
}

TEST(SetBits, GivesWhatPrepareWouldHaveGiven) {
  Prepared eight("generic_int8");
  quant::set_bits(eight.model, "conv[2345]", 8, 8);
  Prepared again("generic_int8");
  EXPECT_EQ(print(eight.model.graph), print(again.model.graph));
  EXPECT_EQ(digest(eight.model), digest(again.model));
}

TEST(SetBits, RefusesWhatThePlatformForbids) {
  Prepared p("magik_t40");
  EXPECT_NE(error_of([&] {
              quant::set_bits(p.model, "conv3", 5, {});
            }).find("magik_t40 cannot have weights of 5 bits, expected 4, 8"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { quant::set_bits(p.model, "convv3", 4, {}); }),
            "selector 'convv3' matches no layer, did you mean 'conv3'?");
}

TEST(Platform, ErrorsNameFileLineAndKey) {
  const std::string text = quant::load_platform("generic_int8").text;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return error_of([&] { quant::parse_platform(changed, "p.yaml"); });
  };
  EXPECT_EQ(with("granularity: channel", "granularity: chanel"),
            "p.yaml:6: weights.granularity: found 'chanel', expected channel, tensor, did you mean 'channel'?");
  EXPECT_EQ(with("granularity", "granularty"),
            "p.yaml:6: weights.granularty: unknown key, did you mean 'granularity'?");
  EXPECT_NE(with("power_of_two: false", "power_of_two: false\npower_of_tow: 1")
                .find("power_of_tow: unknown key, did you mean 'power_of_two'?"),
            std::string::npos);
  EXPECT_NE(with("form: fixed_point", "form: float32").find("with the float32 form of requantization: relu, relu6"),
            std::string::npos);
  EXPECT_EQ(error_of([] { quant::load_platform("generic_int9"); }),
            "platform 'generic_int9' is not known, did you mean 'generic_int8'?; expected a file or one of "
            "generic_int8, magik_t40, onnxruntime_int8, pow2_int8, pytorch_fbgemm, pytorch_x86");
}

TEST(Platform, OverridesReachEveryField) {
  const auto platform =
      quant::load_platform("generic_int8", {{"features.rate", "0.5"}, {"requantize.multiplier_bits", "15"}});
  EXPECT_EQ(platform.rate, 0.5);
  EXPECT_EQ(platform.multiplier_bits, 15);
  EXPECT_EQ(error_of([] {
              quant::load_platform("generic_int8", {{"features.rat", "1"}});
            }),
            "override 'features.rat': the platform has no key 'rat', did you mean 'rate'?");
}

TEST(Convert, NeedsCalibration) {
  const Model model = prepared("  c = conv2d(x=x, w=@w)\n  return c\n");
  EXPECT_EQ(error_of([&] { quant::convert(model); }).substr(0, 90),
            "g.ir:4: node 'x.q': the quantizer has seen no data; calibrate before convert");
}

TEST(Convert, AccumulatorThatCouldOverflowIsRefused) {
  // 12-bit features and 8-bit weights over 8,192 inputs can reach 4095 * 127 * 8192 > 2^31.
  const std::string text =
      "graph g(x: f32[?, 8192]) {\n  param @w: f32[4, 8192]\n  h = linear(x=x, w=@w)\n  return h\n}\n";
  Model model = quant::prepare(train::initialize(parse(text, "g.ir"), 1),
                               quant::load_platform("magik_t40", {{"edges.bits", "8"}}), {{}, 12, {}});
  for (auto& [name, tensor] : model.tensors) {
    if (name.ends_with(".low")) std::fill(tensor.data<float>().begin(), tensor.data<float>().end(), 0.0F);
    if (name.ends_with(".high")) std::fill(tensor.data<float>().begin(), tensor.data<float>().end(), 1.0F);
    if (name == "w") std::fill(tensor.data<float>().begin(), tensor.data<float>().end(), 1.0F);
  }
  quant::set_bits(model, "*", 8, 12);
  EXPECT_NE(error_of([&] { quant::convert(model); }).find("the accumulator can reach"), std::string::npos);
}

}  // namespace
}  // namespace halfstep::test

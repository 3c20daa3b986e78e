// Conversion: integers derived from the floats of a prepared network, overflow proofs, and refusals.
#include "halfstep/quant/convert/convert.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halfstep/core/arith/accumulator.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/metadata/table_origin.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/convert/errors.h"
#include "tests/quant/at.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::calibrated;
using test::diagnostic_of;
using test::images;
using test::kind_of;
using test::network;
using test::on;
using test::prepared;
using test::quantizer;

void fill(Model& model, const std::string& tensor, float value) {
  std::ranges::fill(model.tensors.at(tensor).data<float>(), value);
}

/// One matrix product y of x [?, 4] with `w`, whose elements are all 1, and a bias.
Model product(const std::string& platform = "generic_int8", const test::Overrides& overrides = {},
              const std::string& behind = "  return y\n") {
  Model model =
      network("graph g(x: f32[?, 4]) {\n  param @w: f32[2, 4]\n  param @b: f32[2]\n  y = linear(x, w=@w, b=@b)\n" +
              behind + "}\n");
  fill(model, "w", 1.0F);
  fill(model, "b", 0.25F);
  return calibrated(prepared(model, platform, {}, overrides));
}

std::vector<int64_t> whole(const Tensor& tensor) {
  std::vector<int64_t> numbers;
  const auto add = [&](auto codes) { numbers.assign(codes.begin(), codes.end()); };
  tensor.dtype() == DType::i32 ? add(tensor.data<int32_t>()) : add(tensor.data<int8_t>());
  return numbers;
}

// A4.1, A4.12
TEST(Convert, DerivesCodesBiasesAndFactors) {
  const Conversion conversion = convert(product());
  const Tensors& tensors = conversion.model.tensors;
  // Weights of 1 have the highest code. Biases count steps of 2^-7 / 127.
  EXPECT_EQ(whole(tensors.at("y.w")), std::vector<int64_t>(8, 127));
  EXPECT_EQ(whole(tensors.at("y.b")), std::vector<int64_t>(2, 4064));
  EXPECT_EQ(whole(tensors.at("y.multiplier")),
            std::vector<int64_t>(2, std::lround(std::ldexp(double{1.0F / 127}, 37))));
  EXPECT_EQ(whole(tensors.at("y.shift")), std::vector<int64_t>(2, 37));
  EXPECT_FALSE(tensors.contains("y.negative_shift"));
  const ops::IntegerLinear layer(conversion.model.graph.op("y").node());
  EXPECT_EQ(layer.x_zero_point(), 128);
  EXPECT_EQ(layer.y_zero_point(), 128);
  EXPECT_EQ(layer.code_max(), 255);
  ASSERT_EQ(conversion.proofs.size(), 1U);
  EXPECT_EQ(conversion.proofs[0].layer, "y");
  EXPECT_EQ(conversion.proofs[0].bound, 4 * 127 * 128 + 4064);
  EXPECT_EQ(conversion.proofs[0].limit, arith::kMostInInt32);
}

// A4.7
TEST(Convert, FormsThatKeepScalesStateThem) {
  const Conversion floats = convert(product("onnxruntime_int8")), engine = convert(product("pytorch_x86"));
  const ops::IntegerLinear layer(floats.model.graph.op("y").node());
  EXPECT_EQ(layer.requantize(), "float32");
  EXPECT_EQ(layer.x_scale(), 0x1p-7);
  EXPECT_TRUE(floats.model.tensors.contains("y.w_scale"));
  EXPECT_FALSE(floats.model.tensors.contains("y.shift"));
  EXPECT_EQ(floats.model.tensors.at("y.b").dtype(), DType::i32);
  EXPECT_EQ(engine.model.tensors.at("y.b").dtype(), DType::f32);
}

TEST(Convert, ActivationsAreInTheRangeOfCodes) {
  const Conversion flat = convert(product("generic_int8", {}, "  r = relu(y)\n  return r\n"));
  EXPECT_EQ(ops::IntegerLinear(flat.model.graph.op("y").node()).code_min(), 128);
  const Conversion slope = convert(product("generic_int8", {}, "  r = leaky_relu(y) {alpha: 0.5}\n  return r\n"));
  EXPECT_EQ(whole(slope.model.tensors.at("y.negative_shift")), std::vector<int64_t>(2, 38));
  EXPECT_EQ(whole(slope.model.tensors.at("y.negative_multiplier")), whole(slope.model.tensors.at("y.multiplier")));
}

TEST(Convert, FillsHaveTheExtentsThatTheyHad) {
  for (const char* extents : {"[]", "[1, 1]"}) {
    const std::string fill = fmt::format("  const @fill: f32{}\n", extents);
    const Model model = calibrated(
        prepared(network("graph g(x: f32[2, 4], seen: bool[4], z: f32[4]) {\n  param @w: f32[2, 4]\n" + fill +
                         "  m = mask_fill(z, condition=seen, value=@fill)\n  y = linear(x, w=@w)\n  return m, y\n}\n"),
                 "generic_int8"));
    const Model integer = convert(model).model;
    EXPECT_EQ(integer.graph.op("m").out(0).dims(), model.graph.op("m").out(0).dims());
  }
}

TEST(Convert, OnlyShiftsWhereScalesArePowersOfTwo) {
  const Conversion conversion = convert(product("pow2_int8"));
  EXPECT_TRUE(conversion.model.tensors.contains("y.shift"));
  EXPECT_FALSE(conversion.model.tensors.contains("y.multiplier"));
}

TEST(Convert, SumsProductsAndAveragesHaveFactors) {
  const Conversion conversion = convert(calibrated(prepared(
      images("  c = conv2d(x, w=@v)\n  s = add(a=c, b=x)\n  m = mul(a=s, b=x)\n"
             "  p = avg_pool2d(m) {kernel: [3, 3], stride: [1, 1], pad: [1, 1, 1, 1], count_include_pad: false}\n"
             "  q = global_avg_pool(p)\n  return q\n"))));
  const Graph& graph = conversion.model.graph;
  const ops::IntegerAdd sum(graph.op("s").node());
  EXPECT_EQ(sum.a_multiplier(), sum.b_multiplier());
  EXPECT_EQ(sum.a_zero_point(), 128);
  const ops::IntegerAvgPool2d edge(graph.op("p").node());
  EXPECT_EQ(edge.edge_counts(), (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(ops::IntegerAvgPool2d(graph.op("q").node()).kernel(), (std::vector<int64_t>{6, 6}));
  std::vector<std::string> proved;
  for (const auto& proof : conversion.proofs) proved.push_back(proof.layer);
  EXPECT_EQ(proved, (std::vector<std::string>{"c", "s", "m", "p", "q"}));
}

TEST(Convert, FunctionsBecomeTablesThatSayWhatTheyWere) {
  const Conversion conversion =
      convert(product("generic_int8", {}, "  s = sigmoid(y)\n  l = leaky_relu(s) {alpha: -0.5}\n  return l\n"));
  EXPECT_EQ(conversion.model.tensors.at("s.table").dims(), Dims{256});
  const TableOrigins& origins = conversion.model.metadata.tables;
  EXPECT_EQ(origins.at("s").function, "sigmoid");
  EXPECT_EQ(origins.at("s").alpha, 0.0);
  EXPECT_EQ(origins.at("s").x_zero_point, 128);
  EXPECT_EQ(origins.at("l").alpha, -0.5);
}

// A5.21
TEST(Convert, MovesFillPlacesWithTheCodeOfWhatTheyFillWith) {
  const std::string body =
      "  const @fill: f32[]\n  c = conv2d(x, w=@v)\n  p = pad(c) {pads: [0, 0, 1, 1, 0, 0, 1, 1]}\n"
      "  q = pad(p, value=@fill) {pads: [0, 0, 1, 1, 0, 0, 1, 1]}\n  d = conv2d(q, w=@u)\n  return d\n";
  Model model = images(body);
  model.tensors.at("fill").data<float>()[0] = 9.0F;
  const Conversion conversion = convert(calibrated(prepared(model)));
  EXPECT_EQ(conversion.model.tensors.at("p.fill").data<uint8_t>()[0], 128);
  EXPECT_EQ(conversion.model.tensors.at("q.fill").data<uint8_t>()[0], 255);
}

/// A second quantizer of a value that has codes, with 4 bits after 8.
TEST(Convert, CodesThatAreQuantizedAgainAreRescaled) {
  const auto again = [](const std::string& platform) {
    Model model = prepared(images("  c = conv2d(x, w=@w)\n  return c\n"), platform);
    const Value codes = quantizer(model, "c.q").out();
    insert_quantizer(model, platform_of(model), {{codes}, "again", -1, 4});
    return convert(calibrated(model));
  };
  const Conversion fixed = again("generic_int8"), floats = again("onnxruntime_int8");
  const ops::IntegerRescale rescale(fixed.model.graph.op("c.q.q").node());
  EXPECT_EQ(rescale.code_max(), 15);
  EXPECT_EQ(rescale.x_zero_point(), 128);
  EXPECT_EQ(&floats.model.graph.op("c.q.q").info(), &ops::IntegerLookup::record());
}

TEST(Convert, FallbacksNeedLeaveAndAreNamed) {
  const Model model = calibrated(
      prepared(images("  c = conv2d(x, w=@w)\n  s = hardmax(c) {axis: 1}\n  d = conv2d(s, w=@v)\n  return d, c\n")));
  EXPECT_EQ(diagnostic_of([&] { convert(model); }),
            errors::operators_cannot_become_integers("g", "1 operator (hardmax 's')"));
  EXPECT_EQ(kind_of([&] { convert(model); }), ErrorKind::unsupported);
  const Conversion conversion = convert(model, {.float_fallback = true});
  ASSERT_EQ(conversion.fallbacks.size(), 1U);
  EXPECT_EQ(conversion.fallbacks[0].layer, "s");
  EXPECT_EQ(conversion.model.metadata.stage, Stage::integer);
  // The codes of c are dequantized once, for the float fallback and for the output.
  EXPECT_EQ(conversion.model.graph.all<ops::Dequantize>().size(), 2U);
  EXPECT_EQ(conversion.model.graph.op("s").in(0).name(), "c.q.real");
  EXPECT_EQ(conversion.model.graph.all<ops::Quantize>().size(), 2U);
}

TEST(Convert, AModelSaysItsStage) {
  Model model = product();
  EXPECT_EQ(model.metadata.stage, Stage::prepared);
  EXPECT_EQ(images("  c = conv2d(x, w=@w)\n  return c\n").metadata.stage, Stage::float_network);
  Model program = convert(model).model;
  EXPECT_EQ(program.metadata.stage, Stage::integer);
  Builder builder(program.graph);
  program.graph.set_outputs({ops::relu(builder, {.x = program.graph.outputs()[0], .name = "late"}).out()});
  EXPECT_EQ(diagnostic_of([&] { require_program(program); }), errors::float_operator_in_program("node 'late'", "relu"));
}

TEST(Convert, NeedsCalibration) {
  EXPECT_EQ(diagnostic_of([] { convert(prepared(images("  c = conv2d(x, w=@w)\n  return c\n"))); }),
            errors::quantizer_uncalibrated("g.ir:5: node 'x.q'"));
  EXPECT_EQ(kind_of([] { convert(prepared(images("  c = conv2d(x, w=@w)\n  return c\n"))); }), ErrorKind::bad_input);
}

TEST(Convert, ScalesThatAreNoPositiveNumbersAreRefused) {
  Model model = product();
  for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity()}) {
    fill(model, "x.scale", scale);
    EXPECT_EQ(diagnostic_of([&] { convert(model); }),
              errors::quantizer_scale_not_positive("g.ir:4: node 'x.q'", fmt::format("{}", scale)));
  }
}

// A4.2
TEST(Convert, FactorsWithoutAMultiplierAreRefused) {
  const auto said = [](const std::string& platform, const std::string& body, const std::string& tensor, float scale) {
    Model model = calibrated(prepared(images("  c = conv2d(x, w=@v)\n" + body), platform));
    fill(model, tensor, scale);
    return diagnostic_of([&] { convert(model); });
  };
  const auto refused = [](const std::string& layer, const std::string& where, const Diagnostic& found) {
    const std::string name = layer == "c" ? "NAME" : layer;  // weights have several scales, by channel
    Diagnostic expected = errors::layer_not_requantizable(where, found.problem, name, "");
    expected.layer = layer;
    EXPECT_EQ(found, expected);
  };
  refused("c", "g.ir:5: node 'c': channel 0", said("generic_int8", "  return c\n", "c.scale", 1e-30F));
  refused("c", "g.ir:5: node 'c': channel 0",
          said("generic_int8", "  l = leaky_relu(c) {alpha: 1e-30}\n  return l\n", "x.scale", 0.5F));
  const std::string product = "  m = mul(a=c, b=x)\n  return m\n", sum = "  s = add(a=c, b=x)\n  return s\n";
  refused("m", "g.ir:6: node 'm.q'", said("generic_int8", product, "m.scale", 1e-30F));
  refused("s", "g.ir:6: node 's.q'", said("generic_int8", sum, "s.scale", 1e-30F));
  refused("m", "g.ir:6: node 'm.q'", said("pow2_int8", product, "m.scale", 3.0F));
  refused("s", "g.ir:6: node 's.q'", said("onnxruntime_int8", sum, "s.scale", 1e-44F));
}

/// A sum of powers of two whose ratio exceeds every shift. A summand smaller than any step is accepted.
TEST(Convert, SumsOfPowersOfTwoNeedAShiftEach) {
  Model model = calibrated(
      prepared(network("graph g(x: f32[?, 4], z: f32[?, 4]) {\n  param @w: f32[4, 4]\n  c = linear(x, w=@w)\n"
                       "  s = add(a=x, b=z)\n  return c, s\n}\n"),
               "pow2_int8"));
  EXPECT_EQ(convert(model).proofs.size(), 2U);
  fill(model, "z.scale", 0x1p-60F);
  EXPECT_EQ(convert(model).proofs.size(), 2U);
  fill(model, "z.scale", 0x1p60F);
  EXPECT_EQ(test::name_of([&] { convert(model); }), "layer_not_requantizable");
}

// A6.1
TEST(Convert, AccumulatorsThatCouldOverflowAreRefused) {
  // 12-bit activations and 8-bit weights over 8,192 inputs can reach 4095 * 127 * 8192 > 2^31.
  Model model = network("graph g(x: f32[?, 8192]) {\n  param @w: f32[4, 8192]\n  h = linear(x, w=@w)\n  return h\n}\n");
  fill(model, "w", 1.0F);
  const test::Overrides wide = {{"activations.legal_bits", "[8, 12]"}};
  Model few = calibrated(prepared(model, "generic_int8", {}, wide), 0, 1);
  EXPECT_NO_THROW(convert(few));
  set_bits(few, "x.q", {}, 12);
  Diagnostic expected = errors::channel_accumulator_overflow("g.ir:3: node 'h': channel 0", 4260372480);
  expected.layer = "h";
  EXPECT_EQ(diagnostic_of([&] { convert(few); }), expected);
}

/// A refused layer does not hide refusals behind it or in another branch.
TEST(Convert, EverythingIsRefusedAtOnce) {
  Model model =
      calibrated(prepared(images("  c = conv2d(x, w=@v)\n  d = conv2d(c, w=@v)\n  e = conv2d(d, w=@u)\n"
                                 "  m = mul(a=e, b=x)\n  return m\n")));
  fill(model, "c.scale", 1e-30F);
  fill(model, "m.scale", 1e-30F);
  const auto all = test::diagnostics_of([&] { convert(model); });
  ASSERT_EQ(all.size(), 3U);  // d reads the result of c
  EXPECT_EQ(all[0].where, "g.ir:5: node 'c': channel 0");
  EXPECT_EQ(all[2].where, "g.ir:8: node 'm.q'");
  for (const Diagnostic& one : all) EXPECT_EQ(one.entry, &errors::layer_not_requantizable_entry);
}

/// Codes of the weight of y are called y.w. A tensor of the network already has this name.
TEST(Convert, TensorsOfTheNetworkAreNotTakenForCodes) {
  Model model = network(
      "graph g(x: f32[?, 4], z: f32[2, 4]) {\n  param @w: f32[2, 4]\n  const @y.w: f32[2, 4]\n  y = linear(x, w=@w)\n"
      "  s = add(z, b=@y.w)\n  i = cast(s) {to: \"i64\"}\n  return y, i\n}\n");
  fill(model, "y.w", 3.0F);
  const Model integer = convert(calibrated(prepared(model))).model;
  const Value read = integer.graph.op("s").in(1);
  EXPECT_TRUE(integer.tensors.at(read.name()).same_bits(model.tensors.at("y.w"))) << read.name();
  EXPECT_EQ(integer.tensors.at("y.w").dtype(), DType::i8);
}

TEST(Convert, WeightsWithoutAQuantizerAreRefused) {
  Model model = calibrated(prepared(images("  c = conv2d(x, w=@w)\n  d = conv2d(c, w=@v)\n  return d\n")));
  model.graph.op("d").set_operand(ops::Conv2d::record().quant.weight, model.graph.tensor("v"));
  EXPECT_TRUE(diagnostic_of([&] { convert(model); }).message().starts_with("g.ir:6: node 'd': "));
}

/// The metadata of a Model list the operators that stay in float. A graph that disagrees with them is refused.
TEST(Convert, NetworksThatDisagreeWithTheirMetadataAreRefused) {
  const auto said = [](const FloatOperators& note) {
    Model model = calibrated(prepared(images("  c = conv2d(x, w=@w)\n  s = hardmax(c) {axis: 1}\n  return s\n")));
    model.metadata.float_operators = note;
    return diagnostic_of([&] { convert(model, {.float_fallback = true}); });
  };
  EXPECT_TRUE(said({}).message().starts_with("g.ir:6: node 's': "));
  EXPECT_EQ(said({{"s", "so"}, {"c", "so"}}), Diagnostic{});  // in float, with a fake-quantized weight
  Model model = calibrated(prepared(images("  c = conv2d(x, w=@w)\n  return c\n")));
  const ops::FakeQuantize last = quantizer(model, "c.q");
  last.out().replace_all_uses_with(last.x());
  model.graph.erase(model.graph.op("c.observer"));
  model.graph.erase(last);
  EXPECT_TRUE(diagnostic_of([&] { convert(model); }).message().starts_with("g.ir:5: node 'c': "));
}

TEST(Convert, QuantizersWithoutIntegersAreRefused) {
  const std::string body = "  c = conv2d(x, w=@w)\n  return c\n";
  const Diagnostic kind = diagnostic_of([&] {
    convert(calibrated(prepared(images(body), "generic_int8", {}, {{"weights.quantizer", "apot"}})));
  });
  EXPECT_EQ(kind.entry, &errors::quantizer_kind_without_integers_entry) << kind.message();
  EXPECT_EQ(kind.layer, "w.q");
  const Model weights =
      prepared(images(body), "generic_int8", {},
               {{"insert.asks", "[conv2d]"}, {"insert.weights", "[conv2d]"}, {"insert.inputs", "never"}});
  EXPECT_EQ(diagnostic_of([&] { convert(weights, {.float_fallback = true}); }), errors::nothing_becomes_integers("g"));
}

}  // namespace
}  // namespace halfstep::quant

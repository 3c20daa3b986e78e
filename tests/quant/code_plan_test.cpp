// The code plan of a network: values with codes, operators that stay in float with the reason, and activation functions
// that fuse into another operator.
#include "halfstep/quant/prepare/code_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/float_fallback.h"
#include "tests/quant/at.h"
#include "tests/quant/networks.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::images;
using test::network;
using test::prepared;

/// Operators in float with their reasons, by name.
FloatOperators in_float(const Model& model, const std::string& platform = "generic_int8",
                        const test::Overrides& overrides = {}) {
  FloatOperators found;
  for (const auto& [node, reason] :
       plan_codes(model, load_platform(platform, overrides), staying_in_float(model, {})).in_float)
    found.emplace(node->name, reason);
  return found;
}

// A5.22
TEST(CodePlan, ReasonsForFloat) {
  const std::string body =
      "  const @three: f32[]\n"
      "  c = conv2d(x, w=@w) {pad: [1, 1, 1, 1]}\n"
      "  s = hardmax(c) {axis: 1}\n"
      "  r = sigmoid(s)\n"
      "  t = add(a=c, b=@three)\n"
      "  m = mul(a=c, b=c)\n"
      "  k = conv2d(c, w=m)\n";
  EXPECT_EQ(in_float(images(body + "  return r, t, m, c\n")),
            (FloatOperators{{"k", "its weight 'm' is computed"},
                            {"r", "its inputs are all float values"},
                            {"s", "hardmax has no integer implementation"}}));
}

TEST(CodePlan, ComputedOperandsHaveNoCodes) {
  EXPECT_EQ(in_float(images("  k = mul(a=@v, b=@u)\n  c = conv2d(x, w=k)\n  return c\n")).at("c"),
            "its weight 'k' is computed");
  EXPECT_EQ(in_float(network("graph g(x: f32[2, 4]) {\n  param @w: f32[4, 4]\n  param @b: f32[4]\n"
                             "  k = mul(a=@b, b=@b)\n  c = linear(x, w=@w, b=k)\n  return c\n}\n"))
                .at("c"),
            "its bias 'k' is computed");
  EXPECT_EQ(in_float(network("graph g(x: f32[2, 4]) {\n  param @w: f32[4, 4]\n  const @b: f32[]\n  k = mul(a=@b, "
                             "b=@b)\n  p = pad(x, value=k) {pads: [0, 1, 0, 0]}\n  return p\n}\n"))
                .at("p"),
            "its fill 'k' is computed");
}

/// A row of each sample, counted in float: all operators stay as they are, except the layers and the gather of their
/// rows.
const char* const kRows =
    "graph g(x: f32[?, 4]) {\n  param @w: f32[4, 4]\n  const @two: f32[1]\n  h = linear(x, w=@w)\n"
    "  i = positions(x)\n  z = positions(x) {step: 0}\n  f = cast(i) {to: \"f32\"}\n  c = gather(x=@two, indices=z)\n"
    "  s = add(a=c, b=f)\n  m = slice(x) {starts: [0], ends: [1], axes: [1]}\n  n = cast(m) {to: \"i64\"}\n"
    "  j = cast(s) {to: \"i64\"}\n  y = gather(x=h, indices=j)\n  v = linear(y, w=@w)\n  return v, n\n}\n";

TEST(CodePlan, IndexArithmeticHasNoCodes) {
  const FloatOperators found = in_float(network(kRows));
  EXPECT_EQ(found.at("c"), "it computes indices or masks");
  EXPECT_EQ(found.at("s"), "it computes indices or masks");
  EXPECT_EQ(found.at("m"), "it computes indices or masks");
  EXPECT_FALSE(found.contains("y"));
}

/// A file for one sample stores values that a dynamic batch repeats for every sample. Both have the same operators in
/// float.
TEST(CodePlan, MovedTensorsAreTensors) {
  const auto behind = [](const std::string& front) {
    return in_float(
        network("graph g(x: f32[?, 4]) {\n  param @w: f32[4, 4]\n  const @table: f32[1, 4]\n  h = " + front +
                "\n  p = positions(x) {step: 0}\n  t = gather(x=@table, indices=p)\n"
                "  y = concat(x=[h, t]) {axis: 1}\n  return y\n}\n"));
  };
  const FloatOperators floats = behind("hardmax(x)");
  EXPECT_EQ(floats.at("y"), "its inputs are all float values");
  EXPECT_EQ(floats.at("t"), "its inputs are all float values");
  const FloatOperators codes = behind("linear(x, w=@w)");
  EXPECT_FALSE(codes.contains("y") || codes.contains("t"));
}

/// A mean over an image of any size has no stored division.
TEST(CodePlan, MeansOverDynamicSizes) {
  const auto reasons = [](const std::string& size) {
    const FloatOperators found = in_float(network("graph g(x: f32[?, 4, " + size +
                                                  "]) {\n  param @w: f32[4, 4, 1, 1]\n  param @s: f32[4]\n"
                                                  "  c = conv2d(x, w=@w)\n  n = instance_norm(c, scale=@s, bias=@s)\n"
                                                  "  y = global_avg_pool(c)\n  return n, y\n}\n"));
    return std::pair(found.contains("n") ? found.at("n") : "", found.contains("y") ? found.at("y") : "");
  };
  const std::string open = "the number of elements in its mean depends on dynamic dimensions";
  EXPECT_EQ(reasons("?, 8"), std::pair(open, open));
  EXPECT_EQ(reasons("8, 8").second, "");
}

/// Rows of a table have codes in front of a scan, whose region computes on codes.
TEST(CodePlan, TablesInFrontOfRegions) {
  const Model model = network(
      "graph g(ids: i64[?, 3], s: f32[3, 4]) {\n  param @table: f32[9, 4]\n  param @w: f32[4, 4]\n"
      "  e = gather(x=@table, indices=ids)\n"
      "  z = scan(values=[s, e]) {states: 1, scanned: 1} region body(t: f32[3, 4], row: f32[3, 4]) {\n"
      "    h = linear(row, w=@w)\n    n = add(a=t, b=h)\n    return n\n  }\n  y = relu(z)\n  return y\n}\n");
  EXPECT_FALSE(in_float(model).contains("e"));
}

/// A sum of learned rows and numbers that are counted along an axis has codes. A quantizer is behind the numbers.
TEST(CodePlan, CountedNumbersAreQuantizedOnce) {
  const Model model = network(
      "graph g(ids: i64[?]) {\n  param @table: f32[9, 4]\n  param @w: f32[4, 4]\n  const @k: f32[4]\n"
      "  e = gather(x=@table, indices=ids)\n  p = positions(ids)\n  f = cast(p) {to: \"f32\"}\n"
      "  u = unsqueeze(f) {axes: [1]}\n  a = mul(a=u, b=@k)\n  s = sin(a)\n  x = add(a=e, b=s)\n"
      "  y = linear(x, w=@w)\n  return y\n}\n");
  const FloatOperators found = in_float(model);
  EXPECT_EQ(found.at("s"), "it computes indices or masks");
  EXPECT_FALSE(found.contains("x") || found.contains("e"));
  const Model made = prepared(model);
  EXPECT_EQ(made.graph.op("s").in(0), made.graph.value("a"));
  EXPECT_EQ(made.graph.op("x").in(1).producer().in(0), made.graph.value("s"));
  EXPECT_TRUE(float_fallback(made).empty());
}

/// A part of an input that becomes an integer is read in front of the layer's quantizer.
TEST(CodePlan, IndexArithmeticReadsInputsAsTheyAre) {
  const Model model = prepared(network(kRows));
  EXPECT_EQ(model.graph.op("m").in(0), model.graph.value("x"));
  EXPECT_NE(model.graph.op("h").in(0), model.graph.value("x"));
  EXPECT_TRUE(float_fallback(model).empty());
  EXPECT_EQ(model.graph.all<ops::FakeQuantize>().size(), 5U);  // x, h, v and the weight of each layer
}

TEST(CodePlan, AChipMayComputeInFloat) {
  const Model model = images("  c = conv2d(x, w=@w)\n  s = sigmoid(c)\n  k = softmax(c)\n  return s, k\n");
  EXPECT_EQ(in_float(model), FloatOperators());
  EXPECT_EQ(in_float(model, "generic_int8", {{"in_float", "[softmax]"}}),
            (FloatOperators{{"k", "generic_int8 computes it in float"}}));
}

TEST(CodePlan, NaNFillsNothingWithCodes) {
  Model model = network(
      "graph g(x: f32[2, 4]) {\n  const @b: f32[]\n  p = pad(x, value=@b) {pads: [0, 1, 0, 0]}\n  "
      "return p\n}\n");
  EXPECT_EQ(in_float(model), FloatOperators());
  model.tensors.at("b").data<float>()[0] = NAN;
  EXPECT_EQ(in_float(model).at("p"), "it fills with NaN, which has no code");
}

TEST(CodePlan, AWeightWithoutElementsHasNoCodes) {
  const Model model = network(
      "graph g(x: f32[?, 4]) {\n  param @w: f32[0, 4]\n  param @v: f32[3, 4]\n  a = linear(x, w=@w)\n"
      "  b = linear(x, w=@v)\n  return a, b\n}\n");
  EXPECT_EQ(in_float(model).at("a"), "its weight 'w' has no elements");
  for (const char* platform : {"generic_int8", "tengine_u8"}) EXPECT_NO_THROW(prepared(model, platform)) << platform;
}

// A5.17
TEST(CodePlan, InfinitiesHideFromSoftmaxesAlone) {
  const std::string graph =
      "graph g(x: f32[2, 4], c: bool[4]) {\n  const @b: f32[]\n  m = mask_fill(x, condition=c, value=@b)\n"
      "  t = transpose(m) {perm: [1, 0]}\n  u = transpose(t) {perm: [1, 0]}\n  s = softmax(u)";
  const auto with = [&](const std::string& rest, float fill) {
    Model model = network(graph + rest);
    model.tensors.at("b").data<float>()[0] = fill;
    return in_float(model);
  };
  const std::string refused =
      "it fills with {}, so the scale is too coarse for other values; only a maximum or a softmax over the last axis "
      "may read it";
  const std::string softmax = "\n  return s\n}\n", both = "\n  return s, t\n}\n", axis = " {axis: 0}\n  return s\n}\n";
  EXPECT_EQ(with(softmax, -INFINITY), FloatOperators());
  EXPECT_EQ(with(softmax, -3e38F), FloatOperators());
  EXPECT_EQ(with(both, -1e4F), FloatOperators());
  EXPECT_EQ(with(both, -INFINITY).at("m"), fmt::format(fmt::runtime(refused), "-inf"));
  EXPECT_EQ(with(axis, -INFINITY).at("m"), fmt::format(fmt::runtime(refused), "-inf"));
  const std::string shared = "\n  r = relu(x)\n  return s, r\n}\n";
  EXPECT_EQ(with(shared, -INFINITY).at("m"), fmt::format(fmt::runtime(refused), "-inf"));
  EXPECT_EQ(with(softmax, INFINITY).at("m"), fmt::format(fmt::runtime(refused), "inf"));
}

TEST(CodePlan, OnlyFloatsHaveCodes) {
  EXPECT_EQ(in_float(network("graph g(i: i64[2, 4]) {\n  f = flatten(i) {axis: 1}\n  return f\n}\n")).at("f"),
            "operand 'i' is i64");
}

// A5.11
TEST(CodePlan, WindowsThatFormsCannotDivide) {
  const Model model = images("  c = conv2d(x, w=@w)\n  p = global_avg_pool(c)\n  return p\n");
  EXPECT_EQ(in_float(model), FloatOperators());
  const Model odd = images("  p = avg_pool2d(x) {kernel: [3, 2], stride: [1, 1]}\n  return p\n");
  EXPECT_EQ(in_float(odd, "pow2_int8"), FloatOperators());
  EXPECT_EQ(in_float(odd, "pow2_int8", {{"requantize.average_bits", "0"}}).at("p"),
            "its windows have 6 elements, expected a power of two");
}

/// The activation function that fuses into `c`, or "".
std::string fused(const std::string& activation, const std::string& platform = "generic_int8",
                  const test::Overrides& overrides = {}, const std::string& more = "") {
  const Model model =
      images("  c = conv2d(x, w=@w)\n  r = " + activation + "\n" + more + "  y = conv2d(r, w=@u)\n  return y\n");
  const CodePlan plan = plan_codes(model, load_platform(platform, overrides), staying_in_float(model, {}));
  const Op op = plan.activation_of(model.graph.op("c"));
  EXPECT_EQ(plan.result_of(model.graph.op("c")).name(), op ? "r" : "c");
  return op ? op.info().name : "";
}

TEST(CodePlan, ActivationsFuseWherePlatformAndFactorsAllowIt) {
  EXPECT_EQ(fused("relu(c)"), "relu");
  EXPECT_EQ(fused("sigmoid(c)"), "");
  EXPECT_EQ(fused("relu(c)", "generic_int8", {{"fused_activations.weighted", "[relu6]"}}), "");
  EXPECT_EQ(fused("leaky_relu(c) {alpha: 0.3}"), "leaky_relu");
  EXPECT_EQ(fused("leaky_relu(c) {alpha: 0.0}"), "");
  EXPECT_EQ(fused("leaky_relu(c) {alpha: -0.5}"), "");
  const test::Overrides leaky = {{"fused_activations.weighted", "[leaky_relu]"}};
  EXPECT_EQ(fused("leaky_relu(c) {alpha: 0.25}", "pow2_int8", leaky), "leaky_relu");
  EXPECT_EQ(fused("leaky_relu(c) {alpha: 0.3}", "pow2_int8", leaky), "");
}

TEST(CodePlan, WhatOthersReadIsNotFusedAway) {
  EXPECT_EQ(fused("relu(c)", "generic_int8", {}, "  d = sigmoid(c)\n"), "");
}

TEST(CodePlan, NetworksWithoutALayerSayWhy) {
  const auto all = test::diagnostics_of([] {
    prepared(
        network("graph g(x: f32[2, 4, 6, 6]) {\n  param @w: f32[4, 4, 3, 3]\n  k = mul(a=@w, b=@w)\n"
                "  c = conv2d(x, w=k)\n  return c\n}\n"));
  });
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0], errors::network_without_layer("g", ""));
  EXPECT_EQ(all[1],
            test::on("c", 4, errors::layer_stays_in_float("", "conv2d: its weight 'k' is computed", all[1].remedy)));
  EXPECT_EQ(test::diagnostic_of([] { prepared(network("graph g(x: f32[2, 4]) {\n  y = relu(x)\n  return y\n}\n")); }),
            errors::network_without_operator("g", " among relu"));
}

TEST(CodePlan, ManyLinksOfAConcatTakeNoTime) {
  std::string body = "  c = conv2d(x, w=@w) {pad: [1, 1, 1, 1]}\n  k0 = relu(c)\n";
  for (int i = 0; i < 40; ++i) {
    const std::string from = std::to_string(i), to = std::to_string(i + 1);
    body += "  d" + from + " = concat(x=[k" + from + ", k" + from + "])\n  k" + to + " = slice(d" + from +
            ") {starts: [0], ends: [4], axes: [1]}\n";
  }
  const Model model = prepared(images(body + "  y = conv2d(k40, w=@u)\n  return y\n"));
  EXPECT_EQ(model.graph.all<ops::FakeQuantize>().size(), 5U);
}

}  // namespace
}  // namespace halfstep::quant

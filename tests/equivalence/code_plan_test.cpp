// Preparation decides once which values have codes, and every later step follows the decision on both execution paths.
#include <gtest/gtest.h>

#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/text/parse.h"
#include "tests/equivalence/fixture.h"

namespace halfstep::test {
namespace {

/// Sixteen random images of 4 channels.
data::Dataset images() {
  Random random(3, 1);
  Tensor x(DType::f32, {16, 4, 6, 6});
  for (float& value : x.data<float>()) value = 2 * random.uniform() - 1;
  return {.name = "images", .inputs = {{"x", x}}, .raw = false};
}

verify::VerifyReport compare(Model prepared, const data::Dataset& data) {
  ThreadPool pool(2);
  const auto parts = api::parts_for(prepared, data);
  train::calibrate(prepared, parts.train, {.batch = 8, .batches = 2}, pool);
  const Model integer = quant::convert(prepared, {.float_fallback = true}).model;
  return api::compare_on(api::paths_of(prepared, integer), parts.test, pool, {});
}

/// A convolution on those images with result c, then `body`.
Model network(const std::string& body) {
  const std::string text =
      "graph g(x: f32[?, 4, 6, 6]) {\n  param @w: f32[4, 4, 3, 3]\n  param @v: f32[1, 4, 3, 3]\n"
      "  param @u: f32[4, 4, 1, 1]\n  const @three: f32[]\n  c = conv2d(x, w=@w) {pad: [1, 1, 1, 1]}\n" +
      body + "}\n";
  Model model = train::initialize(parse(text, "g.ir"), 1);
  if (model.graph.tensor("three")) model.tensors["three"].data<float>()[0] = 3.0F;
  return model;
}

struct PlanCase {
  const char *what, *body;
  FloatOperators in_float;
  const char* platform = "generic_int8";
  std::vector<std::pair<std::string, std::string>> overrides = {};
};

class CodePlan : public testing::TestWithParam<PlanCase> {};

// A5.22
TEST_P(CodePlan, IsObeyedByBothPaths) {
  const PlanCase& c = GetParam();
  const Model prepared = quant::prepare(network(c.body), quant::load_platform(c.platform, c.overrides));
  EXPECT_EQ(prepared.metadata.float_operators, c.in_float);
  const auto report = compare(prepared, images());
  EXPECT_TRUE(report.equal());
  EXPECT_GT(report.layers.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    ExecutionPaths, CodePlan,
    testing::Values(
        PlanCase{
            "a_hardmax", "  s = hardmax(c) {axis: 1}\n  return s\n", {{"s", "hardmax has no integer implementation"}}},
        PlanCase{"a_concat_of_codes_and_floats",
                 "  s = hardmax(c) {axis: 1}\n  d = conv2d(c, w=@u)\n  y = concat(x=[d, s])\n  return y\n",
                 {{"s", "hardmax has no integer implementation"}}},
        PlanCase{"a_sum_with_broadcasting",
                 "  s = conv2d(x, w=@v) {pad: [1, 1, 1, 1]}\n  d = add(a=c, b=s)\n  y = conv2d(d, w=@u)\n  return y\n",
                 {}},
        PlanCase{"a_sum_with_a_tensor", "  d = add(a=c, b=@three)\n  y = conv2d(d, w=@u)\n  return y\n", {}},
        PlanCase{"a_softmax_of_codes", "  s = softmax(c) {axis: 1}\n  y = conv2d(s, w=@u)\n  return y\n", {}},
        PlanCase{"a_mean_over_axes",
                 "  m = reduce_mean(c) {axes: [1], keep_dims: true}\n  y = mul(a=c, b=m)\n  return y\n",
                 {}},
        PlanCase{"a_mean_that_no_shift_divides",
                 "  m = reduce_mean(c) {axes: [2]}\n  return m\n",
                 {{"m", "its mean has 6 elements, expected a power of two"}},
                 "pow2_int8",
                 {{"requantize.average_bits", "0"}}},
        PlanCase{"a_softmax_in_an_engine",
                 "  s = softmax(c) {axis: 1}\n  return s\n",
                 {{"s", "softmax has no integer implementation with float32 requantization"}},
                 "onnxruntime_int8"},
        PlanCase{"what_only_floats_come_to",
                 "  s = hardmax(c) {axis: 1}\n  r = sigmoid(s)\n  y = conv2d(r, w=@u)\n  return y\n",
                 {{"s", "hardmax has no integer implementation"}, {"r", "its inputs are all float values"}}},
        PlanCase{"a_padding_with_a_number",
                 "  d = pad(c, value=@three) {pads: [0, 0, 1, 1, 0, 0, 1, 1]}\n  y = conv2d(d, w=@u)\n  return y\n",
                 {}},
        PlanCase{
            "a_leaky_relu_that_falls", "  l = leaky_relu(c) {alpha: -0.5}\n  y = conv2d(l, w=@u)\n  return y\n", {}},
        PlanCase{"a_leaky_relu_that_no_shift_scales",
                 "  l = leaky_relu(c) {alpha: 0.3}\n  y = conv2d(l, w=@u)\n  return y\n",
                 {},
                 "pow2_int8"},
        PlanCase{"a_window_that_no_shift_divides",
                 "  p = global_avg_pool(c)\n  y = conv2d(p, w=@u)\n  return y\n",
                 {{"p", "its windows have 36 elements, expected a power of two"}},
                 "pow2_int8",
                 {{"requantize.average_bits", "0"}}},
        PlanCase{"a_window_that_a_shift_divides",
                 "  p = avg_pool2d(c) {kernel: [2, 2], stride: [2, 2]}\n  y = conv2d(p, w=@u)\n  return y\n",
                 {},
                 "pow2_int8"}),
    [](const auto& c) { return std::string(c.param.what); });

// A5.21
TEST(CodePlanOnData, APaddedNumberIsInTheRangeBehindIt) {
  Model prepared = quant::prepare(
      network("  d = pad(c, value=@three) {pads: [0, 0, 1, 1, 0, 0, 1, 1]}\n  y = conv2d(d, w=@u)\n  return y\n"),
      quant::load_platform("generic_int8"));
  const data::Dataset data = images();
  ThreadPool pool(2);
  train::calibrate(prepared, api::parts_for(prepared, data).train, {.batch = 8, .batches = 2}, pool);
  EXPECT_GE(prepared.tensors.at("c.high").data<float>()[0], 3.0F);
}

}  // namespace
}  // namespace halfstep::test

// Layers without weights: what conversion proves of their accumulators and what it refuses, and averages that leave
// padding out on both roads.
#include <gtest/gtest.h>

#include "halfstep/arith/accumulator.h"
#include "halfstep/ir/ops.h"
#include "halfstep/ir/parse.h"
#include "halfstep/passes/quantized_steps.h"
#include "halfstep/quant/quantizer.h"
#include "tests/roads/fixture.h"
#include "tests/support/error.h"

namespace halfstep::test {
namespace {

using arith::Requantization;

/// The operation that a line makes of x, and of x again.
struct Line {
  Graph graph;
  explicit Line(const std::string& line, const std::string& x)
      : graph(parse("graph g(x: f32" + x + ") {\n  y = " + line + "\n  return y\n}\n", "g.ir")) {}
  Op op() const { return graph.op("y"); }
};

quant::AccumulatorProof proof_of(const std::string& line, const std::string& x, int64_t farthest,
                                 Requantization form = Requantization::fixed_point) {
  const Line use(line, x);
  const std::vector<int64_t> all = {farthest, farthest};
  return quant::accumulator_proof(use.op(), form, std::span(all).first(use.op().operands().size()));
}

void expect_proof(const quant::AccumulatorProof& proof, int64_t bound, int64_t limit) {
  EXPECT_EQ(proof.bound, bound);
  EXPECT_EQ(proof.limit, limit);
}

TEST(AccumulatorProof, IsOfTheLargestWindow) {
  expect_proof(proof_of("global_avg_pool(x)", "[?, 2, 200, 200]", 65535), int64_t{40000} * 65535, arith::kMostScaled);
  expect_proof(proof_of("avg_pool2d(x) {kernel: [3, 3], stride: [1, 1], pad: [1, 1, 1, 1]}", "[?, 1, 2, 2]", 255),
               4 * 255, arith::kMostScaled);
  expect_proof(proof_of("avg_pool2d(x) {kernel: [3, 3], stride: [1, 1]}", "[1, 1, 5, 5]", 255, Requantization::x86),
               9 * 255, arith::kMostInInt32);
  // In float32 a window that is not the image adds reals.
  expect_proof(proof_of("avg_pool2d(x) {kernel: [3, 3], stride: [1, 1]}", "[1, 1, 5, 5]", 255, Requantization::float32),
               255, arith::kMostInFloat32);
  expect_proof(proof_of("global_avg_pool(x)", "[1, 1, 5, 5]", 255, Requantization::float32), 25 * 255,
               arith::kMostInInt32);
}

TEST(AccumulatorProof, IsOfProductsAndSums) {
  expect_proof(proof_of("mul(x, b=x)", "[?, 4]", 65535), int64_t{65535} * 65535, arith::kMostScaled);
  expect_proof(proof_of("add(x, b=x)", "[?, 4]", 65535), 2 * int64_t{65535} * INT32_MAX,
               INT64_MAX - (int64_t{1} << 61));
  expect_proof(proof_of("add(x, b=x)", "[?, 4]", 65535, Requantization::fbgemm), 65535, arith::kMostInFloat32);
}

TEST(AccumulatorProof, IsRefusedWithTheBound) {
  const auto refused = [](const std::string& line, const std::string& x, Requantization form) {
    EXPECT_EQ(kind_of([&] { proof_of(line, x, 65535, form); }), ErrorKind::unsupported);
    return error_of([&] { proof_of(line, x, 65535, form); });
  };
  EXPECT_EQ(refused("global_avg_pool(x)", "[?, 2, 257, 257]", Requantization::fixed_point),
            "g.ir:2: node 'y': the accumulator can reach 4328521215, expected at most 4294967296; use fewer bits or a "
            "smaller window");
  EXPECT_EQ(refused("mul(x, b=x)", "[?, 4]", Requantization::float32),
            "g.ir:2: node 'y': the accumulator can reach 4294836225, expected at most 2147483647; use fewer bits");
}

TEST(ObstacleOnCodes, IsAnOpenExtentOrACountThatNoShiftDividesBy) {
  const auto obstacle = [](const std::string& line, const std::string& x, Requantization form) {
    return quant::obstacle_on_codes(Line(line, x).op(), form);
  };
  const std::string excluding = "avg_pool2d(x) {kernel: [2, 4], stride: [1, 1], pad: [0, 1, 0, 1], count_include_pad: ";
  EXPECT_EQ(obstacle(excluding + "false}", "[?, 1, 6, 6]", Requantization::fixed_point), "");
  EXPECT_EQ(obstacle(excluding + "false}", "[?, 1, 6, 6]", Requantization::x86), "");
  EXPECT_EQ(obstacle(excluding + "true}", "[?, 1, 6, 6]", Requantization::power_of_two), "");
  EXPECT_EQ(obstacle(excluding + "false}", "[?, 1, 6, 6]", Requantization::power_of_two),
            "a window at an edge has 6 elements, expected a power of two");
  EXPECT_EQ(obstacle("global_avg_pool(x)", "[?, 1, 6, 8]", Requantization::power_of_two),
            "its windows have 48 elements, expected a power of two");
  EXPECT_EQ(obstacle("global_avg_pool(x)", "[1, 1, ?, 8]", Requantization::fixed_point),
            "what its windows hold depends on open extents");
  EXPECT_EQ(obstacle("mul(x, b=x)", "[?, 6]", Requantization::power_of_two), "");
  EXPECT_EQ(error_of([] { proof_of("global_avg_pool(x)", "[1, 1, ?, 8]", 255); }),
            "g.ir:2: node 'y': what its windows hold depends on open extents");
  const std::string open = "[1, 1, ?, ?]";
  EXPECT_EQ(obstacle(excluding + "true}", open, Requantization::fixed_point), "");
  EXPECT_EQ(obstacle(excluding + "false}", open, Requantization::fixed_point),
            "what its windows hold depends on open extents");
  expect_proof(proof_of("avg_pool2d(x) {kernel: [3, 3], stride: [1, 1]}", open, 255, Requantization::float32), 9 * 255,
               arith::kMostInInt32);
}

Prepared averages(const std::string& platform, const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  return Prepared(platform, {}, overrides, HALFSTEP_SOURCE_DIR "/tests/roads/averages.ir");
}

class AveragesOn : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Roads, AveragesOn,
                         testing::Values("generic_int8", "pow2_int8", "magik_t40", "onnxruntime_int8", "pytorch_fbgemm",
                                         "pytorch_x86"),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(AveragesOn, BothRoadsAreEqual) {
  Prepared prepared = averages(GetParam());
  const auto conversion = quant::convert(prepared.model);
  const ops::IntegerAvgPool2d cut(conversion.model.graph.op("cut").node());
  EXPECT_FALSE(cut.count_include_pad());
  const auto report = prepared.compare(api::roads_of(prepared.model, conversion.model));
  for (const auto& layer : report.layers) {
    EXPECT_GT(layer.compared, 0) << layer.layer.name;
    EXPECT_EQ(layer.differing + layer.parameters_differing, 0) << layer.layer.name;
  }
}

/// The windows at the edges have 1 and 2 elements: their factors are 4 and 2 times that of a whole one.
TEST(Averages, HaveAMultiplierForEveryCount) {
  const auto conversion = quant::convert(averages("generic_int8").model);
  const ops::IntegerAvgPool2d cut(conversion.model.graph.op("cut").node());
  EXPECT_EQ(cut.edge_counts(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(cut.edge_multipliers(), (std::vector<int64_t>{cut.multiplier(), cut.multiplier()}));
  EXPECT_EQ(cut.edge_shifts(), (std::vector<int64_t>{cut.shift() - 2, cut.shift() - 1}));
  std::vector<std::string> proved;
  for (const auto& proof : conversion.proofs) proved.push_back(proof.layer);
  EXPECT_EQ(proved, (std::vector<std::string>{"conv", "cut", "counted", "mean", "head"}));
}

/// Two power-of-two scales whose ratio no shift has: training refuses their sum too.
TEST(Sums, OfPowersOfTwoNeedAShiftEach) {
  const std::string text = R"(graph g(x: f32[?, 4], z: f32[?, 4]) {
  param @w: f32[4, 4]
  c = linear(x, w=@w)
  s = add(a=x, b=z)
  return c, s
}
)";
  Model model = quant::prepare(train::initialize(parse(text, "g.ir"), 1), quant::load_platform("pow2_int8"));
  const auto fill = [&](Value tensor, float value) {
    std::ranges::fill(model.tensors.at(tensor.name()).data<float>(), value);
  };
  for (const auto& q : model.graph.all<ops::FakeQuantize>()) {
    fill(passes::scale_tensor(q), 0x1p-6F);
    if (q.x().is_tensor()) continue;
    fill(quant::observer_of(q).low(), -1);
    fill(quant::observer_of(q).high(), 1);
  }
  EXPECT_EQ(quant::convert(model).proofs.size(), 2U);
  const Value scale = passes::scale_tensor(ops::FakeQuantize(model.graph.op("z.q").node()));
  fill(scale, 0x1p-60F);  // its share of the sum is less than any step
  EXPECT_EQ(quant::convert(model).proofs.size(), 2U);
  fill(scale, 0x1p60F);
  EXPECT_NE(error_of([&] { quant::convert(model); }).find("requantization factor"), std::string::npos);
}

}  // namespace
}  // namespace halfstep::test

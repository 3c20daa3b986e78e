// The sums of operators without weights, and the sums that each form of requantization accepts.
#include "halfstep/quant/prepare/accumulators.h"

#include <gtest/gtest.h>

#include "halfstep/core/arith/accumulator.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/prepare/errors.h"
#include "tests/quant/at.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using arith::Requantization;
using test::diagnostic_of;
using test::kind_of;

/// The operation that a line computes from x, and possibly from x again.
struct Line {
  Graph graph;
  explicit Line(const std::string& line, const std::string& x)
      : graph(parse("graph g(x: f32" + x + ") {\n  y = " + line + "\n  return y\n}\n", "g.ir")) {}
  Op op() const { return graph.op("y"); }
};

AccumulatorProof proof_of(const std::string& line, const std::string& x, int64_t farthest,
                          Requantization form = Requantization::fixed_point) {
  const Line use(line, x);
  const std::vector<int64_t> all = {farthest, farthest};
  return accumulator_proof(use.op(), form, std::span(all).first(use.op().operands().size()));
}

void expect_proof(const AccumulatorProof& proof, int64_t bound, int64_t limit) {
  EXPECT_EQ(proof.bound, bound);
  EXPECT_EQ(proof.limit, limit);
}

// A6.1
TEST(AccumulatorProof, IsOfTheLargestWindow) {
  expect_proof(proof_of("global_avg_pool(x)", "[?, 2, 200, 200]", 65535), int64_t{40000} * 65535, arith::kMostScaled);
  expect_proof(proof_of("avg_pool2d(x) {kernel: [3, 3], stride: [1, 1], pad: [1, 1, 1, 1]}", "[?, 1, 2, 2]", 255),
               4 * 255, arith::kMostScaled);
  expect_proof(proof_of("avg_pool2d(x) {kernel: [3, 3], stride: [1, 1]}", "[1, 1, 5, 5]", 255, Requantization::x86),
               9 * 255, arith::kMostInInt32);
  // In float32, a window smaller than the image adds float values.
  expect_proof(proof_of("avg_pool2d(x) {kernel: [3, 3], stride: [1, 1]}", "[1, 1, 5, 5]", 255, Requantization::float32),
               255, arith::kMostInFloat32);
  expect_proof(proof_of("global_avg_pool(x)", "[1, 1, 5, 5]", 255, Requantization::float32), 25 * 255,
               arith::kMostInInt32);
}

// A6.1
TEST(AccumulatorProof, IsOfProductsAndSums) {
  expect_proof(proof_of("mul(x, b=x)", "[?, 4]", 65535), int64_t{65535} * 65535, arith::kMostScaled);
  // Kernels know only the type of the codes in a product of two activations.
  expect_proof(proof_of("matmul(x, b=x)", "[1, 1]", 4095), int64_t{65535} * 65535, arith::kMostScaled);
  expect_proof(proof_of("matmul(x, b=x)", "[4, 4]", 15), int64_t{4} * 255 * 255, arith::kMostScaled);
  expect_proof(proof_of("matmul(x, b=x)", "[32769, 32769]", 65535), int64_t{32769} * 65535 * 65535, arith::kMostScaled);
  expect_proof(proof_of("reduce_mean(x) {axes: [1]}", "[?, 100000]", 65535), int64_t{100000} * 65535,
               arith::kMostScaled);
  expect_proof(proof_of("add(x, b=x)", "[?, 4]", 65535), 2 * int64_t{65535} * INT32_MAX,
               INT64_MAX - (int64_t{1} << 61));
  expect_proof(proof_of("add(x, b=x)", "[?, 4]", 65535, Requantization::fbgemm), 65535, arith::kMostInFloat32);
}

// A6.1
TEST(AccumulatorProof, IsRefusedWithTheBound) {
  const auto refused = [](const std::string& line, const std::string& x, Requantization form) {
    EXPECT_EQ(kind_of([&] { proof_of(line, x, 65535, form); }), ErrorKind::unsupported);
    return diagnostic_of([&] { proof_of(line, x, 65535, form); });
  };
  const auto too_far = [](int64_t bound, int64_t limit, const char* smaller) {
    return test::on("y", 2, errors::accumulator_overflow("", bound, limit, smaller));
  };
  for (const auto form : {Requantization::fixed_point, Requantization::power_of_two}) {
    EXPECT_EQ(refused("global_avg_pool(x)", "[?, 2, 65536, 32769]", form),
              too_far(140739635773440, 140737488355328, " or a smaller window"));
    EXPECT_EQ(refused("matmul(x, b=x)", "[32770, 32770]", form), too_far(140741783093250, 140737488355328, ""));
    EXPECT_EQ(refused("reduce_mean(x) {axes: [1]}", "[?, 2147516417]", form),
              too_far(140737488388095, 140737488355328, ""));
  }
  EXPECT_EQ(refused("mul(x, b=x)", "[?, 4]", Requantization::float32), too_far(4294836225, 2147483647, ""));
}

// A5.8, A5.11
TEST(ObstacleOnCodes, IsADynamicDimOrACountThatNoShiftDividesBy) {
  const auto obstacle = [](const std::string& line, const std::string& x, Requantization form) {
    return obstacle_on_codes(Line(line, x).op(), form, 0);
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
            "the number of elements in its windows depends on dynamic dimensions");
  EXPECT_EQ(obstacle_on_codes(Line("global_avg_pool(x)", "[?, 1, 7, 7]").op(), Requantization::power_of_two, 5), "");
  EXPECT_EQ(obstacle("mul(x, b=x)", "[?, 6]", Requantization::power_of_two), "");
  EXPECT_EQ(diagnostic_of([] { proof_of("global_avg_pool(x)", "[1, 1, ?, 8]", 255); }),
            errors::window_of_dynamic_dims("g.ir:2: node 'y'"));
  const std::string open = "[1, 1, ?, ?]";
  EXPECT_EQ(obstacle(excluding + "true}", open, Requantization::fixed_point), "");
  EXPECT_EQ(obstacle(excluding + "false}", open, Requantization::fixed_point),
            "the number of elements in its windows depends on dynamic dimensions");
  expect_proof(proof_of("avg_pool2d(x) {kernel: [3, 3], stride: [1, 1]}", open, 255, Requantization::float32), 9 * 255,
               arith::kMostInInt32);
}

}  // namespace
}  // namespace halfstep::quant
